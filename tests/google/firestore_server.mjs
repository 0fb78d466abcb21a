// Firestore on 127.0.0.1: the server of @firestore-emulator/server, with three rules of Firestore that it leaves out.
//
// * A write with an `update_time` precondition fails if the document has another one. The package ignores these.
// * All writes of a commit happen, or none. The package makes those before the first that fails.
// * Each commit has a later time than the one before. The package has two in one millisecond.
//
// The argument "as-published" leaves these rules out, so that a test can see what they are for. Prints its port, and ends
// with its standard input. A line there, {"method", "code", "times", "every", "applied"}, fails calls of the method:
// `times` calls, each `every`th one, with the status `code`, after the effect if `applied`. The answer is an empty line.
import serverPackage from "@firestore-emulator/server";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { FirestoreServer } = serverPackage;
const ofPackage = createRequire(createRequire(import.meta.url).resolve("@firestore-emulator/server"));
const { status, ServerCredentials } = ofPackage("@grpc/grpc-js");

const firestore = new FirestoreServer();
const handler = (method) => firestore.server.handlers.get(`/google.firestore.v1.Firestore/${method}`);
const faults = {};
let last = 0;

if (process.argv[2] !== "as-published") {
  const commit = handler("Commit");
  const published = commit.func;
  commit.func = (call, callback) => {
    const refused = call.request.writes.map(refusal).find(Boolean);
    if (refused) return callback(refused, null);
    while (Date.now() <= last);
    last = Date.now();
    return published(call, callback);
  };
}

for (const method of ["Commit", "BatchGetDocuments", "RunQuery"]) {
  const { func, type } = handler(method);
  handler(method).func = (call, callback) => {
    const failure = failureOf(method);
    if (!failure) return func(call, callback);
    const error = { code: failure.code, message: "injected" };
    if (type !== "unary") return call.emit("error", Object.assign(new Error("injected"), error));
    if (failure.applied) func(call, () => {});
    return callback(error, null);
  };
}

function failureOf(method) {
  const fault = faults[method];
  if (!fault || fault.times === 0) return undefined;
  fault.seen = (fault.seen ?? 0) + 1;
  if (fault.seen % fault.every) return undefined;
  fault.times -= 1;
  return fault;
}

function refusal(write) {
  if (!write.has_current_document) return undefined;
  const { metadata } = firestore.state.getDocument(write.has_delete ? write.delete : write.update.name);
  const condition = write.current_document;
  if (condition.has_exists && condition.exists !== metadata.hasExist) {
    return metadata.hasExist
      ? { code: status.ALREADY_EXISTS, message: "entity already exists" }
      : { code: status.NOT_FOUND, message: "no entity to update" };
  }
  if (!condition.has_update_time) return undefined;
  if (!metadata.hasExist) return { code: status.NOT_FOUND, message: "no entity to update" };
  const { seconds, nanos } = condition.update_time;
  return metadata.updatedAt.getTime() === seconds * 1000 + nanos / 1e6
    ? undefined
    : { code: status.FAILED_PRECONDITION, message: "the stored version does not match the required base version" };
}

firestore.server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const fault = JSON.parse(line);
    faults[fault.method] = fault;
    console.log();
  })
  .on("close", () => process.exit(0));
