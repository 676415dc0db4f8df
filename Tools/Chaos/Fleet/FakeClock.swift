import EventLoop
import FoundationEssentials

/// The wall clock of a process that runs under libfaketime. Its monotonic clock is left alone, as when an operator sets
/// the clock of a machine.
@EventLoop
final class FakeClock {
  private let path: String
  private let library: String
  private(set) var jumps: [ClosedRange<UInt64>] = []

  init(directory: String) throws {
    guard let library = FakeClock.library else { throw ChaosError("libfaketime is missing: install `faketime`") }
    self.library = library
    path = "\(directory)/clock"
    try set(0)
  }

  var environment: [String: String] {
    [
      "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": path, "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1",
      "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    ]
  }

  /// Moves the clock for a while.
  func jump(seconds: Int, for duration: Duration) async throws {
    let begin = Clock.unixNanoseconds
    try set(seconds)
    try await Task.sleep(for: duration)
    try set(0)
    jumps.append(begin...Clock.unixNanoseconds)
  }

  private func set(_ seconds: Int) throws {
    try "\(seconds < 0 ? "" : "+")\(seconds)\n".write(toFile: path, atomically: true, encoding: .utf8)
  }

  private static var library: String? {
    let root = "/usr/lib"
    let folders = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).map { "\(root)/\($0)" }
    return (folders + [root]).map { "\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }
}
