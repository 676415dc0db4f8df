import Credentials
import EventLoop
import Registry

extension EnvironmentReader {
  /// Of a limit.
  private static let counts = 1...1_000_000

  /// A number of times within a window: `120/1m`. Nil for `off`.
  mutating func limit(_ name: String, default fallback: WindowLimit) -> WindowLimit? {
    guard let value = string(name) else { return fallback }
    if value.lowercased() == "off" { return nil }
    let parts = value.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let count = EnvironmentReader.count(parts[0]),
      let window = EnvironmentReader.window(parts[1])
    else {
      report(
        name, seen: "'\(value)'",
        expected:
          "a number from 1 to \(EnvironmentReader.counts.upperBound), a slash and a window: 120/1m, 20/30s; or off"
      )
      return fallback
    }
    return WindowLimit(count, per: window)
  }

  private static func count(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
    return Int(text).flatMap { counts.contains($0) ? $0 : nil }
  }

  /// Read like every other duration.
  private static func window(_ text: Substring) -> Duration? {
    let name = "window"
    var reader = EnvironmentReader([name: String(text)])
    let window = reader.duration(name, default: .zero)
    return reader.faults.isEmpty && window > .zero ? window : nil
  }
}
