import HTTPServer
package import Testing

@testable package import Sidecar

/// Expects a refusal that the push API answers with `text`.
package func refuses<Value>(
  _ text: String, sourceLocation: SourceLocation = #_sourceLocation, _ work: () throws -> Value
) {
  let refusal = #expect(throws: Refusal.self, sourceLocation: sourceLocation) { _ = try work() }
  guard let refusal else { return }
  #expect(refusal.status == 400, sourceLocation: sourceLocation)
  let body = String(decoding: refusal.response.body, as: UTF8.self)
  #expect(body == #"{"error":"\#(text)"}"#, sourceLocation: sourceLocation)
}

/// Expects a refusal for `reason` that the push API answers with `text`.
package func refuses<Value>(
  _ reason: Refusal.Reason, _ text: String, sourceLocation: SourceLocation = #_sourceLocation,
  _ work: () throws -> Value
) {
  let refusal = #expect(throws: Refusal.self, sourceLocation: sourceLocation) { _ = try work() }
  #expect(refusal?.reason == reason, sourceLocation: sourceLocation)
  refuses(text, sourceLocation: sourceLocation, work)
}
