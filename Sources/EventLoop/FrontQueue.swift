/// A queue in an array. Elements are released when they are removed; their places at the front only from time to time.
public struct FrontQueue<Element> {
  /// Free places at the front that are always kept.
  @usableFromInline static var compactedAt: Int { 1024 }
  /// The capacity that an empty queue keeps at most.
  @usableFromInline static var keptCapacity: Int { 4096 }

  @usableFromInline var places: [Element?] = []
  @usableFromInline var head = 0

  @inlinable public init() {}

  @inlinable public var isEmpty: Bool { head == places.count }

  @inlinable public var count: Int { places.count - head }

  @inlinable public var first: Element? { isEmpty ? nil : places[head] }

  @inlinable
  public mutating func append(_ element: Element) { places.append(element) }

  @inlinable
  public mutating func append(contentsOf elements: some Collection<Element>) {
    places.append(contentsOf: elements.lazy.map { Optional($0) })
  }

  @inlinable
  public mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = places[head].take()
    head += 1
    if head == places.count {
      places.removeAll(keepingCapacity: places.capacity <= FrontQueue.keptCapacity)
      head = 0
    } else if head >= FrontQueue.compactedAt, head * 2 >= places.count {
      places.removeFirst(head)
      head = 0
    }
    return element
  }

  @inlinable
  public mutating func popLast() -> Element? { isEmpty ? nil : places.removeLast() }

  /// Removes and returns all elements.
  @inlinable
  public mutating func removeAll() -> [Element] {
    defer { self = FrontQueue() }
    return places[head...].compactMap { $0 }
  }
}
