import FleetSupport
import Foundation
import JSON
import Testing
import TestSupport

/// `martlet status` tells why a connection to APNs has ended.
struct ConnectionEndStatusTests {
  @Test func `status shows the last end of a connection of the fleet`() async throws {
    let fleet = try await Fleet()
    let worker = try await fleet.worker()
    let settings = ["MARTLET_QUEUES": worker.queue]
    func status() async throws -> JSONValue {
      let child = try await fleet.martlet("status", "--json", environment: settings)
      return try JSONValue(parsing: Array(child.lines.joined().utf8))
    }
    #expect(try await status()["connectionEnd"] == nil)
    try await fleet.gateway.fault(#"{"kind":"goaway","count":1}"#)
    let id = fleet.unique("job")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"T"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
    try await eventually("the worker reports it") { try await status()["connectionEnd"] != nil }
    let end = try await status()["connectionEnd"]
    #expect(end?["reason"]?.string == "Shutdown")
    #expect(end?["gateway"]?.string == fleet.gateway.ready.url)
    let lines = try await fleet.martlet("status", environment: settings).lines
    let shown = "the last connection to APNs that ended: Shutdown, \(fleet.gateway.ready.url), "
    #expect(lines.contains { $0.hasPrefix(shown) && $0.hasSuffix(" s ago") })
    #expect(try await worker.stop() == 0)
  }
}
