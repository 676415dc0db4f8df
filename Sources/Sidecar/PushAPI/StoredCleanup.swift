import JSON

/// What was taken out of a user's set before a send.
struct StoredCleanup: Equatable {
  /// Entries that are no tokens.
  var malformed = 0
  /// Entries whose metadata is gone or names somebody else.
  var foreign = 0
  /// 0 when no metadata was looked at.
  var lookupConcurrency = 0

  var storageMembers: [JSONMember] {
    // Redis sets hold nothing but strings.
    [.count("invalidStoredTokensRemoved", malformed), .count("skippedNonStringTokenCount", 0)]
  }

  /// What an answer says when nothing is left to send to.
  var diagnostics: [JSONMember] {
    [.count("staleOwnershipTokensRemoved", foreign), .count("pushMetadataLookupConcurrency", lookupConcurrency)]
      + storageMembers
  }
}
