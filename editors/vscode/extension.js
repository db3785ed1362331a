// Starts `tcjax lsp` and connects the editor to it.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate(context) {
  const [command, ...args] = vscode.workspace.getConfiguration("tcjax").get("command");
  client = new LanguageClient(
    "tcjax",
    "tcjax",
    { command, args },
    { documentSelector: [{ language: "tc" }, { language: "sac" }, { language: "python" }] },
  );
  try {
    await client.start();
  } catch (error) {
    // The client rejects with an error or with a text, and cannot be stopped when it did not start.
    client = undefined;
    vscode.window.showErrorMessage(
      `tcjax: \`${[command, ...args].join(" ")}\` did not start (${error?.message ?? error}). Install it with ` +
        "`pip install \"tcjax[lsp]\"`, or set tcjax.command to the one of your environment.",
    );
  }
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
