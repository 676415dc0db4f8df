public import PushModel

/// Whom a job is for: the value of `to`.
public enum Addressee: Sendable, Equatable {
  /// Every device that a user owns.
  case user(Username)
  /// One device, only if the user owns it.
  case userToken(user: Username, token: DeviceToken)
  case token(DeviceToken)
  /// 1 to 1,000 tokens. A token that is named twice gets the job once.
  case tokens([DeviceToken])
  /// The one active device of an instance. The job always has a class.
  case instance(String)
  /// Every device registered for a bundle id.
  case app(String)
  /// Every device that has registered an update token of a Live Activity; only a user's if one is named.
  case activity(String, user: Username?)
  /// One update token of a Live Activity. It gets the newest state, unless it has it.
  case activityToken(String, token: DeviceToken)
  /// The devices that have subscribed to a channel of the job's app, by its name.
  case channel(String)

  init(from reader: inout JobReader) throws(JobError) {
    var seen: UInt64 = 0
    var user: Username?
    var single: Addressee?
    var token: DeviceToken?
    var activity: String?
    try reader.beginObject()
    while let number = try reader.nextKey(among: AddresseeKey.names, seen: &seen) {
      // The numbers are the raw values of the cases.
      switch AddresseeKey(rawValue: number)! {
      case .user: user = try reader.username()
      case .token: token = try reader.token()
      case .tokens: single = .tokens(try Addressee.tokens(from: &reader))
      case .instance: single = .instance(try reader.instance())
      case .app: single = .app(try reader.identifier(Charset.bundleID))
      case .activity: activity = try reader.activityID()
      case .channel: single = .channel(try reader.identifier(Charset.channelName))
      }
    }
    reader.field = "to"
    if let activity, single == nil, user == nil || token == nil {
      self = token.map { .activityToken(activity, token: $0) } ?? .activity(activity, user: user)
      return
    }
    switch (user, token, single, seen.nonzeroBitCount) {
    case (let user?, let token?, nil, 2): self = .userToken(user: user, token: token)
    case (let user?, nil, nil, 1): self = .user(user)
    case (nil, let token?, nil, 1): self = .token(token)
    case (nil, nil, let single?, 1): self = single
    default:
      throw reader.error(
        "expected exactly one of user, token, tokens, instance, app, channel, activity (or user with token, activity with user)"
      )
    }
  }

  /// Whether the job goes to tokens of a Live Activity.
  public var isActivity: Bool {
    switch self {
    case .activity, .activityToken: true
    case .user, .userToken, .token, .tokens, .instance, .app, .channel: false
    }
  }

  private static func tokens(from reader: inout JobReader) throws(JobError) -> [DeviceToken] {
    var tokens: [DeviceToken] = []
    try reader.beginArray()
    while try reader.nextElement() {
      guard tokens.count < Job.maximumTokens else {
        throw reader.error("more than \(Job.maximumTokens) tokens; split the job")
      }
      tokens.append(try reader.token())
    }
    guard !tokens.isEmpty else { throw reader.error("empty; name at least one token") }
    return tokens
  }
}

/// The keys of `to`.
private enum AddresseeKey: Int, CaseIterable {
  case user, token, tokens, instance, app, activity, channel

  static let names = FieldNames(allCases.map { "\($0)" }, in: "to.", nullIsAbsent: false)
}
