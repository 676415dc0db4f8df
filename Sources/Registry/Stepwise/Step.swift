import Events

/// One command of a change, with keys of one hash slot only.
enum Step: Sendable, Equatable {
  /// Reads the metadata: ``StepReply/device(_:)``.
  case read
  /// Whether the key of a set has its type or does not exist: ``StepReply/flag(_:)``.
  case check(DeviceSet)
  /// Whether a set has at least `limit` entries: ``StepReply/flag(_:)``.
  case isFull(DeviceSet, limit: Int)
  /// Writes the journal's entry: ``StepReply/flag(_:)``.
  case open
  /// Removes the journal's entry: ``StepReply/flag(_:)``.
  case close
  /// Adds the token to a set. The flag is false if it is not in the set because that has `limit` entries.
  case join(DeviceSet, limit: Int?)
  /// Removes the token from a set, if that has more than `above` entries. The flag is whether it was removed.
  case leave(DeviceSet, above: Int?)
  /// Writes the metadata, or deletes it if `metadata` is empty, if the stored one is `expected`. The flag is true then;
  /// else the reply is ``StepReply/device(_:)``. The event is written beside the metadata, until ``publish``.
  case swap(expected: [UInt8], metadata: [UInt8], lifetime: RecordLifetime, event: Event?)
  /// Moves the events of the device to the stream. The flag is false if that must be done later.
  case publish
}

/// The reply to a ``Step``.
enum StepReply: Sendable, Equatable {
  case device(StoredDevice)
  case flag(Bool)
}
