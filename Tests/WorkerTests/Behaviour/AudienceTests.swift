import Testing
import TestSupport

/// Who a job reaches.
@Suite(.serialized) struct AudienceTests {
  private static let fleet = Task { try await Fleet() }
  private static let shared = Task { try await fleet.value.worker() }

  @Test func `a token that nobody registered is sent to as it is`() async throws {
    let fleet = try await Self.fleet.value
    let worker = try await Self.shared.value
    let token = fleet.uniqueToken()
    let id = fleet.unique("token")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"Hello"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.results.map(\.token) == [token])
    #expect(try await fleet.gateway.counts()[record.results[0].apnsId] == 1)
  }
}
