/// What a test waited for in vain.
public struct TestTimeout: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// Looks every 10 ms whether `condition` holds; throws ``TestTimeout`` naming `what` when it never does.
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
