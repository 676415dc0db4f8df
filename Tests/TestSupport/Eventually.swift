/// A condition that a test waited for did not become true.
public struct TestTimeout: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// Checks every 10 ms whether `condition` holds. Throws ``TestTimeout`` with `what` if time runs out.
public nonisolated(nonsending) func eventually(
  within: Duration = .seconds(20), _ what: String,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + within
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw TestTimeout("not within \(within): \(what)") }
    try await Task.sleep(for: .milliseconds(10))
  }
}
