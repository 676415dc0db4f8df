import Foundation
import TestSupport

/// Process ids and ends of the worker processes of a supervisor, from its log.
extension FleetWorker {
  private struct Entry: Decodable {
    let message: String
    let process: Int?
    let pid: Int32?
  }

  private func entries(_ message: String) -> [Entry] {
    process.lines.compactMap { try? JSONDecoder().decode(Entry.self, from: Data($0.utf8)) }
      .filter { $0.message == message }
  }

  /// The ids of all processes that were started, in this order, by the number of their place.
  var started: [Int: [Int32]] {
    entries("worker process started").reduce(into: [:]) { pids, entry in
      if let place = entry.process, let pid = entry.pid { pids[place, default: []].append(pid) }
    }
  }

  /// The id of the newest process of a place.
  func pid(_ place: Int) throws -> Int32 {
    guard let pid = started[place]?.last else { throw TestTimeout("process \(place) was not started") }
    return pid
  }

  /// The ids of processes of places that still run. One that has ended may not have been waited for yet.
  var running: [Int32] {
    started.values.flatMap { $0 }.filter { pid in
      guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return false }
      return !status.contains("State:\tZ")
    }
  }

  /// Waits until each of `count` processes is ready.
  func allReady(_ count: Int) async throws {
    try await eventually(within: .seconds(60), "\(count) ready processes") {
      try await get("/readyz").body.contains(#""processes":{"running":\#(count),"ready":\#(count),"notReady":[]}"#)
    }
  }
}

extension Fleet {
  /// Starts a supervisor of `count` processes, and waits until all are ready.
  func supervisor(
    _ count: Int, _ changes: [String: String?] = [:], on queue: String? = nil, isReady: Bool = true
  ) async throws -> FleetWorker {
    let quiet: [String: String?] = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]
    let worker = try await worker(
      quiet.merging(changes) { $1 }, on: queue, isReady: isReady, arguments: ["--processes", "\(count)"])
    if isReady { try await worker.allReady(count) }
    return worker
  }
}
