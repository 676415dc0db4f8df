import Dispatch

/// Runs blocking code on a thread of its own: the cooperative pool has only as many threads as there are cores.
public func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "client").async { continuation.resume(with: Result(catching: body)) }
  }
}
