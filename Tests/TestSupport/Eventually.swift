/// A condition that a test waited for did not become true.
public struct TestTimeout: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}

/// How long a test waits for what it expects. Only a failure takes this long: no test fails because its machine is slow.
public let patience = Duration.seconds(300)

/// Checks whether `condition` holds: every 10 ms, later every 100 ms, as tests that wait long leave the processor to others.
/// Throws ``TestTimeout`` with `what` if time runs out. `within` is only for a limit that is part of what is checked.
public nonisolated(nonsending) func eventually(
  within: Duration = patience, _ what: String,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let begin = ContinuousClock.now
  while try await !condition() {
    let waited = ContinuousClock.now - begin
    guard waited < within else { throw TestTimeout("not within \(within): \(what)") }
    try await Task.sleep(for: max(.milliseconds(10), min(.milliseconds(100), waited / 20)))
  }
}
