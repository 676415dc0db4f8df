import Foundation

/// The path of an executable of this package, built beside the tests.
public func builtProduct(_ name: String) throws -> String {
  let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  let path = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
  guard FileManager.default.isExecutableFile(atPath: path) else {
    throw TestTimeout("no \(name) beside the tests: build it with `swift build --product \(name)`")
  }
  return path
}
