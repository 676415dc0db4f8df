extension String {
  /// The name of a key, made of its parts with one allocation.
  package init(key prefix: StaticString, _ name: String, _ suffix: StaticString = "") {
    let count = prefix.utf8CodeUnitCount + name.utf8.count + suffix.utf8CodeUnitCount
    self.init(unsafeUninitializedCapacity: count) { key in
      var end = key.initialize(fromContentsOf: UnsafeBufferPointer(prefix))
      end = key[end...].initialize(fromContentsOf: name.utf8)
      return key[end...].initialize(fromContentsOf: UnsafeBufferPointer(suffix))
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate init(_ text: StaticString) { self.init(start: text.utf8Start, count: text.utf8CodeUnitCount) }
}
