/// A condition that a test waited for did not become true.
public struct TestTimeout: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// How long a test waits for what it expects. Only a failure takes this long: no test fails because its machine is slow.
public let patience = Duration.seconds(300)

/// Checks every 10 ms whether `condition` holds. Throws ``TestTimeout`` with `what` if time runs out. `within` is only for a limit
/// that is part of what is checked.
public nonisolated(nonsending) func eventually(
  within: Duration = patience, _ what: String,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + within
  while try await !condition() {
    guard ContinuousClock.now < deadline else { throw TestTimeout("not within \(within): \(what)") }
    try await Task.sleep(for: .milliseconds(10))
  }
}
