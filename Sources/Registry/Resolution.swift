import EventLoop
public import PushModel
public import Redis

/// Which devices to find.
public enum DeviceQuery: Sendable, Equatable {
  case user(Username)
  /// One device, if the user owns it.
  case userToken(user: Username, token: DeviceToken)
  /// One device, even if it is not registered.
  case token(DeviceToken)
  case tokens([DeviceToken])
  case instance(String)
  /// The update tokens of a Live Activity.
  case activity(String)
}

/// The devices of one query.
public struct Resolution: Sendable, Equatable {
  /// The devices to send to.
  public var devices: [Device]
  /// Entries of the user's set for ``Registry/clean(user:_:completion:)``.
  public var removals: [Removal]
  /// Set instead of devices if this user's set is too large; call ``Registry/resolveLarge(_:completion:)``.
  public var largeUser: Username?
  /// Set if there are devices under this other form of the user's name.
  var storedName: ExactText?
  /// Set instead of devices if Redis failed.
  public var error: RedisError?

  public init(devices: [Device] = [], removals: [Removal] = [], largeUser: Username? = nil, error: RedisError? = nil) {
    self.devices = devices
    self.removals = removals
    self.largeUser = largeUser
    self.error = error
  }

  mutating func apply(_ decision: consuming Ownership.Decision) {
    switch decision {
    case .send(let device): devices.append(device)
    case .remove(let removal): removals.append(removal)
    }
  }
}

/// Collects the replies to a batch of queries and passes them on when the last has arrived.
@EventLoop
final class ResolveExchange {
  /// A token whose metadata is read.
  enum Token {
    case named(DeviceToken)
    /// Another form of a token that a producer named and that is not registered.
    case otherForm(String, DeviceToken)
    /// An entry of a user's set.
    case owned([UInt8], user: Username)
    case ofActivity([UInt8], id: String)

    func appendKey(to command: inout RedisCommand) {
      switch self {
      case .named(let token): command.append(RegistryKeys.token(token))
      case .otherForm(let entry, _): command.append(RegistryKeys.token(entry: entry))
      case .owned(let entry, _), .ofActivity(let entry, _): command.append(RegistryKeys.token(entry))
      }
    }

    /// Another form of a token that was named, if it has no metadata.
    func otherForm(of metadata: RedisValue) -> Token? {
      guard case .named(let token) = self, metadata.bytes == nil, let entry = token.upperCased else { return nil }
      return .otherForm(entry, token)
    }
  }

  typealias Lookup = (query: Int, token: Token)

  /// What is read when the sets of all users were read.
  var owned: [Lookup] = []
  /// Number of users whose sets were not read yet.
  var unread = 0

  /// Queries that repeat an earlier one.
  var repeated: [(query: Int, first: Int)] = []

  private var resolutions: [Resolution]
  private let completion: @EventLoop ([Resolution]) -> Void
  /// Number of expected replies, plus one until ``close()``.
  private var open = 1

  init(count: Int, completion: @escaping @EventLoop ([Resolution]) -> Void) {
    resolutions = Array(repeating: Resolution(), count: count)
    self.completion = completion
  }

  func expect() {
    open += 1
  }

  /// Ends the sending of queries.
  func close() {
    finishOne()
  }

  func answer(
    _ query: Int, _ result: Result<RedisValue, RedisError>, _ apply: (inout Resolution, RedisValue) -> Void
  ) {
    switch result {
    case .success(let value):
      if resolutions[query].error == nil { apply(&resolutions[query], value) }
    case .failure(let error): resolutions[query] = Resolution(error: error)
    }
    finishOne()
  }

  /// Marks the query as one for a user with a large set.
  func setLarge(_ user: Username, _ query: Int) {
    resolutions[query].largeUser = user
  }

  /// Notes whether there are devices under another form of the user's name, by the reply to SCARD.
  func answer(_ query: Int, form: ExactText, _ result: Result<RedisValue, RedisError>) {
    answer(query, result) { resolution, value in
      if value.integer != 0 { resolution.storedName = form }
    }
  }

  /// Handles the reply to an MGET of the metadata of these tokens.
  func answer(_ lookups: ArraySlice<Lookup>, _ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value):
      for ((query, token), metadata) in zip(lookups, value.array ?? [])
      where resolutions[query].error == nil && token.otherForm(of: metadata) == nil {
        resolutions[query].add(token, metadata: metadata.bytes)
      }
    case .failure(let error):
      for (query, _) in lookups { resolutions[query] = Resolution(error: error) }
    }
    finishOne()
  }

  /// What to look up in place of the named tokens that have no metadata.
  func otherForms(_ lookups: ArraySlice<Lookup>, _ result: Result<RedisValue, RedisError>) -> [Lookup] {
    guard case .success(let value) = result else { return [] }
    return zip(lookups, value.array ?? []).compactMap { lookup, metadata in
      lookup.token.otherForm(of: metadata).map { (lookup.query, $0) }
    }
  }

  private func finishOne() {
    open -= 1
    guard open == 0 else { return }
    for (query, first) in repeated { resolutions[query] = resolutions[first] }
    completion(resolutions)
  }
}

extension Resolution {
  fileprivate mutating func add(_ token: ResolveExchange.Token, metadata: [UInt8]?) {
    switch token {
    case .named(let token): devices.append(Ownership.device(token, metadata: metadata))
    case .otherForm(let entry, let token): apply(Ownership.decide(token, otherForm: entry, metadata: metadata))
    case .owned(let entry, let user): apply(Ownership.decide(entry: entry, metadata: metadata, owner: user))
    case .ofActivity(let token, let id):
      if let decision = Ownership.decide(entry: token, metadata: metadata, ofActivity: id) { apply(decision) }
    }
  }

  /// Decides about entries of a user's set with their metadata.
  init(_ entries: [[UInt8]], _ metadata: some Sequence<[UInt8]?>, of user: Username) {
    self.init()
    for (entry, metadata) in zip(entries, metadata) {
      apply(Ownership.decide(entry: entry, metadata: metadata, owner: user))
    }
  }
}
