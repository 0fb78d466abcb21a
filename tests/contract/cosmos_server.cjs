// Serve Cosmos DB on a free port of 127.0.0.1 and print the port. Argument: attributes of the account, in JSON.
// Lines on stdin are faults, each in JSON: {"method", "path", "status", "substatus"} answers a matching request so;
// {"method", "path", "loses": "request" | "answer"} ends its connection before or after the effect. "times" is how often.
const { createHttpServer } = require("@vercel/cosmosdb-server");
const Account = require("@vercel/cosmosdb-server/lib/account").default;

const attributes = JSON.parse(process.argv[2]);
const faults = [];

// The server always says "Session". It is one process with one copy of the data, so every level is true of it.
const read = Account.prototype.read;
Account.prototype.read = function () {
  return { ...read.call(this), ...attributes };
};

function fault(request) {
  const found = faults.find((each) => each.times > 0 && each.method === request.method && request.url.includes(each.path));
  if (found) found.times -= 1;
  return found;
}

const server = createHttpServer({ keepAlive: true });
const [answer] = server.listeners("request");
server.removeAllListeners("request");
server.on("request", (request, response) => {
  // Without it, the server fails on reads of an absent document.
  if (request.method === "GET") request.headers["x-ms-documentdb-query-enablecrosspartition"] = "true";
  const found = fault(request);
  if (found && found.status) {
    const headers = { "content-type": "application/json", "x-ms-retry-after-ms": "1" };
    response.writeHead(found.status, { ...headers, "x-ms-substatus": String(found.substatus || 0) });
    response.end(JSON.stringify({ code: "Injected", message: "injected" }));
  } else if (found && found.loses === "request") {
    request.socket.destroy();
  } else {
    if (found) response.end = () => request.socket.destroy();
    answer.call(server, request, response);
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));

require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => console.log(faults.push({ times: 1, method: "POST", path: "", ...JSON.parse(line) })))
  .on("close", () => process.exit()); // whoever started it has ended
