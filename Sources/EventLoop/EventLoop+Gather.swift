extension EventLoop {
  /// Calls `body` for each element: it begins something, and calls what it is given once with the result. Passes the
  /// results, in the order of the elements, when the last has arrived.
  @EventLoop @inlinable
  public static func gather<Element, Value>(
    _ elements: some Collection<Element>, _ body: (Element, @escaping @EventLoop (Value) -> Void) -> Void,
    completion: @escaping @EventLoop ([Value]) -> Void
  ) {
    var values = [Value?](repeating: nil, count: elements.count)
    var missing = values.count
    guard missing > 0 else { return completion([]) }
    for (index, element) in elements.enumerated() {
      body(element) { value in
        values[index] = value
        missing -= 1
        if missing == 0 { completion(values.compactMap { $0 }) }
      }
    }
  }

  /// Returns the results of ``gather(_:_:completion:)``.
  @EventLoop
  public static func gather<Element, Value: Sendable>(
    _ elements: some Collection<Element>, _ body: (Element, @escaping @EventLoop (Value) -> Void) -> Void
  ) async -> [Value] {
    await withCheckedContinuation { continuation in
      gather(elements, body) { continuation.resume(returning: $0) }
    }
  }
}
