/// The known keys of an object, which are found by their bytes without making a `String`.
public struct JSONKeys: Sendable {
  /// The names in their original order; the number of a key is its index.
  public let names: [String]

  private let bytes: [[UInt8]]
  private let slots: [Int16]
  private let mask: Int

  public init(_ names: [String]) {
    self.names = names
    bytes = names.map { Array($0.utf8) }
    var size = 16
    while size < names.count * 4 { size *= 2 }
    mask = size - 1
    var slots = [Int16](repeating: -1, count: size)
    for (number, name) in bytes.enumerated() {
      var slot = name.withUnsafeBufferPointer { JSONKeys.hash($0) } & mask
      while slots[slot] >= 0 { slot = (slot + 1) & mask }
      slots[slot] = Int16(number)
    }
    self.slots = slots
  }

  /// Returns the number of the key with these bytes; nil if it is unknown.
  func number(of key: UnsafeBufferPointer<UInt8>) -> Int? {
    var slot = JSONKeys.hash(key) & mask
    while slots[slot] >= 0 {
      let number = Int(slots[slot])
      if JSONKeys.equal(bytes[number], key) { return number }
      slot = (slot + 1) & mask
    }
    return nil
  }

  private static func equal(_ name: [UInt8], _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    guard name.count == key.count else { return false }
    for index in key.indices where name[index] != key[index] { return false }
    return true
  }

  private static func hash(_ key: UnsafeBufferPointer<UInt8>) -> Int {
    guard let first = key.first, let last = key.last else { return 0 }
    return key.count &* 7 &+ Int(first) &* 31 &+ Int(last) &* 5 &+ Int(key[key.count / 2])
  }
}

/// A key of an object read with ``JSONKeys``.
public enum JSONKey: Sendable, Equatable {
  /// The key's index in ``JSONKeys/names``.
  case known(Int)
  case unknown(String)
}
