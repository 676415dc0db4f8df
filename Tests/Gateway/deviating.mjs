// A gateway of APNs by node's own HTTP/2, with twelve seeded deviations, which are marked.
// usage: node deviating.mjs KEY.pem CERTIFICATE.pem; prints its port.
import { createSecureServer, constants } from "node:http2";
import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

const [keyPath, certificatePath] = process.argv.slice(2);
const server = createSecureServer({
  // client-certificate: it asks for none
  key: readFileSync(keyPath),
  cert: readFileSync(certificatePath),
  // first-settings, unproven-streams, proven-streams, full-settings, refused-streams: always 100 streams
  settings: { headerTableSize: 4096, maxConcurrentStreams: 100, initialWindowSize: 65535, maxFrameSize: 16384 },
});

function refusal(headers, size, isJSON) {
  const path = headers[":path"];
  const value = (name) => headers[`apns-${name}`];
  if (headers[":method"] !== "POST") return [404, "BadPath"]; // method: 405
  if (!path.startsWith("/3/device/")) return [404, "BadPath"];
  const token = path.slice("/3/device/".length);
  if (token === "") return [400, "MissingDeviceToken"];
  if (token.length === 4) return [400, "BadDeviceToken"]; // order: the provider token comes first
  const authorization = headers.authorization;
  if (!authorization) return [403, "MissingProviderToken"];
  if (authorization === "bearer none") return [403, "ExpiredProviderToken"]; // bad-token: Invalid
  if (!value("topic")) return [400, "MissingTopic"];
  if (value("topic").includes(",")) return [400, "DuplicateHeaders"];
  if (value("id") && !/^[0-9a-fA-F-]{36}$/.test(value("id"))) return [400, "BadMessageId"];
  if (value("push-type") !== "background") return [400, "InvalidPushType"];
  if (value("priority") !== "5") return [400, "BadPriority"];
  if (!/^[0-9]+$/.test(value("expiration"))) return [400, "BadExpirationDate"];
  // collapse: any length is taken
  if (size === 0) return [400, "PayloadEmpty"];
  if (size > 4096) return [413, "PayloadTooLarge"];
  if (!isJSON) return [400, "BadPayload"];
  return [400, "BadDeviceToken"];
}

server.on("stream", (stream, headers) => {
  stream.on("error", () => {});
  if (headers["x-long"]) return stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  let text = "";
  stream.on("data", (data) => (text += data));
  stream.on("end", () => {
    let isJSON = true;
    try {
      JSON.parse(text);
    } catch {
      isJSON = false;
    }
    const [status, reason] = refusal(headers, text.length, isJSON);
    // refusal-fields: no content type; made-id: upper case
    stream.respond({ ":status": status, "apns-id": headers["apns-id"] ?? randomUUID(), "content-type": "application/json" });
    stream.end(JSON.stringify({ reason }));
  });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
