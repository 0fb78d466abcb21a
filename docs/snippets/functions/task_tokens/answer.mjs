// Answer a Task that waits: AWS_REGION=... node answer.mjs URL TOKEN OUTPUT
import { createHash, createHmac } from "node:crypto";
import { pathToFileURL } from "node:url";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const hmac = (key, text) => createHmac("sha256", key).update(text).digest();

/** Send `content` to the URL for answers, signed with the credentials of the environment; Lambda sets them. */
export async function answer(url, content, credentials = process.env) {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session, AWS_REGION: region } = credentials;
  const { host, pathname } = new URL(url);
  const body = JSON.stringify(content);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = [time.slice(0, 8), region, "lambda", "aws4_request"];

  // Signature Version 4. Source: AWS IAM User Guide, "Create a signed AWS API request".
  const headers = { host, "x-amz-date": time, ...(session && { "x-amz-security-token": session }) };
  const names = Object.keys(headers);
  const signedHeaders = names.join(";");
  const request = ["POST", pathname, "", ...names.map((name) => `${name}:${headers[name]}`), "", signedHeaders, sha256(body)];
  const text = ["AWS4-HMAC-SHA256", time, scope.join("/"), sha256(request.join("\n"))].join("\n");
  const signature = hmac(scope.reduce((key, part) => hmac(key, part), `AWS4${secret}`), text).toString("hex");
  const authorization = `AWS4-HMAC-SHA256 Credential=${id}/${scope.join("/")}, SignedHeaders=${signedHeaders}, Signature=${signature}`;

  const sent = { ...headers, authorization, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers: sent, body });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [url, taskToken, output] = process.argv.slice(2);
  await answer(url, { taskToken, output });
}
