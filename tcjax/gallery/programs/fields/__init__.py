"""Fields, images and simulations."""
