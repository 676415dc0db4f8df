package import Testing
import TestSupport

/// How devices are changed, and where.
package enum Way: Sendable, CaseIterable {
  /// In one atomic step, on one server.
  case atomic
  /// In steps, on one server.
  case stepwise
  /// In steps, on a cluster.
  case cluster

  /// The way of the test that runs now.
  @TaskLocal package static var current = Way.atomic
}

/// Runs each test in all of its ways, one after the other.
package struct WaysTrait: SuiteTrait, TestTrait, TestScoping {
  let ways: [Way]
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    for way in ways {
      do {
        try await Way.$current.withValue(way) { try await function() }
      } catch {
        throw WayFailure(way: way, cause: error)
      }
    }
  }
}

private struct WayFailure: Error {
  let way: Way
  let cause: any Error
}

extension Trait where Self == WaysTrait {
  /// Runs each test on one server, and on a cluster; with another engine than Debian's, in steps on one server.
  package static var inEveryWay: Self { WaysTrait(ways: [.atomic, RedisServer.isOtherEngine ? .stepwise : .cluster]) }

  /// Runs each test on one server only, by scripts and in steps.
  package static var onOneServer: Self { WaysTrait(ways: [.atomic, .stepwise]) }
}
