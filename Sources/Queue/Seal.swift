/// The word in front of the fleet's own elements in a queue's list: `MARTLET <seal> `, then the envelope.
///
/// Producers write to the same list, and their bytes are jobs whatever they look like. The seal is random, one per queue,
/// made by the first worker that joins. Only elements of the list itself carry it: the other keys are written by the
/// fleet alone.
package enum Seal {
  static let marker = "MARTLET "

  static func random() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 36) }

  /// What stands in front of an envelope.
  static func prefix(_ seal: String) -> [UInt8] { Array((marker + seal + " ").utf8) }

  /// The envelope of an element that was taken from a queue as it is: the fleet's own behind the seal, or a new one.
  static func envelope(ofPopped element: [UInt8], seal: String, nonce: @autoclosure () -> String) -> [UInt8] {
    let prefix = prefix(seal)
    guard !seal.isEmpty, element.starts(with: prefix) else { return Envelope(nonce: nonce(), job: element).element }
    return Array(element[prefix.count...])
  }
}
