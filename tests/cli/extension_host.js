// Runs the extension for VS Code without VS Code: `node extension_host.js EXTENSION COMMAND...` prints, as JSON, the
// languages that it serves, what the server can do, and the errors that it shows.
const { spawn } = require("child_process");
const Module = require("module");

const [extension, ...command] = process.argv.slice(2);
const said = { languages: [], capabilities: null, errors: [], stopped: null };

// As that of vscode-languageclient: it rejects with a text, and what did not start cannot be stopped.
class LanguageClient {
  constructor(id, name, server, options) {
    this.server = server;
    said.languages = options.documentSelector.map((each) => each.language);
  }

  async start() {
    this.process = spawn(this.server.command, this.server.args, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdin.on("error", () => {});
    const failed = new Promise((_, reject) => {
      this.process.on("error", (error) => reject(`Launching the server failed. ${error}`));
    });
    const params = { processId: null, rootUri: null, capabilities: {} };
    const answer = await Promise.race([this.request(1, "initialize", params), failed]);
    said.capabilities = answer.result.capabilities;
    this.running = true;
  }

  async stop() {
    if (!this.running) throw new Error("Client is not running and can't be stopped.");
    await this.request(2, "shutdown");
    this.send({ method: "exit" });
    said.stopped = await new Promise((resolve) => this.process.on("exit", resolve));
  }

  request(id, method, params) {
    let received = "";
    const answer = new Promise((resolve) => {
      this.process.stdout.on("data", (data) => {
        received += data;
        const start = received.indexOf("\r\n\r\n") + 4;
        const length = Number(/Content-Length: (\d+)/.exec(received)?.[1]);
        if (start > 4 && received.length >= start + length) resolve(JSON.parse(received.slice(start)));
      });
    });
    this.send({ id, method, params });
    return answer.finally(() => this.process.stdout.removeAllListeners("data"));
  }

  send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.process.stdin.write(`Content-Length: ${text.length}\r\n\r\n${text}`);
  }
}

const vscode = {
  workspace: { getConfiguration: (section) => ({ get: (name) => ({ "tcjax.command": command })[`${section}.${name}`] }) },
  window: { showErrorMessage: (message) => said.errors.push(message) },
};
const stubs = { vscode, "vscode-languageclient/node": { LanguageClient } };
const load = Module._load;
Module._load = (name, ...others) => stubs[name] ?? load(name, ...others);

const { activate, deactivate } = require(extension);
activate({ subscriptions: [] })
  .then(deactivate)
  .then(() => console.log(JSON.stringify(said)));
