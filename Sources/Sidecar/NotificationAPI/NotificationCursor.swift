import Queue
import Crypto
import Jobs

/// Where a client goes on reading: the id of an entry, in a form that asks not to be looked into.
struct NotificationCursor: Equatable {
  let id: StreamID

  init(id: StreamID) {
    self.id = id
  }

  /// Nil unless it is the ``text`` of a cursor.
  init?(parsing text: String) {
    guard let bytes = Base64URL.decode(text.utf8), let id = StreamID(parsing: String(decoding: bytes, as: UTF8.self)),
      // Redis reads nothing behind the last id there could be.
      id != StreamID(milliseconds: .max, sequence: .max)
    else { return nil }
    self.id = id
  }

  var text: String { String(decoding: Base64URL.encode(Array(id.text.utf8)), as: UTF8.self) }
}
