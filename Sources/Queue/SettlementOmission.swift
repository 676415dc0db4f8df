/// What is left out of a settlement because this user of Redis may not write it. Redis checks the keys before it runs a
/// script, and does not name the key.
///
/// The cases are in the order of the attempts. The last one writes neither events nor the reply.
enum SettlementOmission: CaseIterable {
  case nothing
  case events
  case reply
  case replyAndEvents

  var hasEvents: Bool { self == .events || self == .replyAndEvents }
  var hasReply: Bool { self == .reply || self == .replyAndEvents }

  /// The next attempt at a settlement with or without events and a reply; nil if there is nothing more to leave out.
  func next(hasEvents: Bool, hasReply: Bool) -> SettlementOmission? {
    SettlementOmission.allCases.drop { $0 != self }.dropFirst().first { omission in
      (hasEvents || !omission.hasEvents) && (hasReply || !omission.hasReply)
    }
  }
}
