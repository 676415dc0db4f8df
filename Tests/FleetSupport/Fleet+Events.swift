import Events
package import JSON
import Redis

extension Fleet {
  /// The events of the stream that `isWanted`, in their order.
  package func events(where isWanted: (JSONValue) -> Bool) async throws -> [JSONValue] {
    let entries = try await redis("XRANGE", EventStream.key, "-", "+").array ?? []
    return try entries.compactMap { entry in
      guard let bytes = entry.array?.last?.array?.last?.bytes else { return nil }
      return try JSONValue(parsing: bytes)
    }.filter(isWanted)
  }

  /// The events about a device, `type` and the user or the new owner.
  package func events(ofToken token: String) async throws -> [String] {
    try await events { $0["data"]?["token"]?.string == token }.map { event in
      let data = event["data"]
      return "\(event["type"]?.string ?? "") \((data?["user"] ?? data?["to"])?.string ?? "")"
    }
  }

  /// The events about a job.
  package func events(ofJob id: String) async throws -> [JSONValue] {
    try await events { $0["data"]?["id"]?.string == id }
  }
}
