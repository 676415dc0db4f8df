import EventLoop
public import Redis

/// Which devices to find. Usernames must be normalised.
public enum DeviceQuery: Sendable, Equatable {
  case user(String)
  /// One device, if the user owns it.
  case userToken(user: String, token: String)
  /// One device, even if it is not registered.
  case token(String)
  case tokens([String])
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
  public var largeUser: String?
  /// Set instead of devices if Redis failed.
  public var error: RedisError?

  public init(devices: [Device] = [], removals: [Removal] = [], largeUser: String? = nil, error: RedisError? = nil) {
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
    case named(String)
    /// An entry of a user's set.
    case owned([UInt8], user: String)
    case ofActivity([UInt8], id: String)

    func appendKey(to command: inout RedisCommand) {
      switch self {
      case .named(let token): command.append(RegistryKeys.token(token))
      case .owned(let entry, _), .ofActivity(let entry, _): command.append(RegistryKeys.token(entry))
      }
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
  func setLarge(_ user: String, _ query: Int) {
    resolutions[query].largeUser = user
  }

  /// Handles the reply to an MGET of the metadata of these tokens.
  func answer(_ lookups: ArraySlice<Lookup>, _ result: Result<RedisValue, RedisError>) {
    switch result {
    case .success(let value):
      for ((query, token), metadata) in zip(lookups, value.array ?? []) where resolutions[query].error == nil {
        resolutions[query].add(token, metadata: metadata.bytes)
      }
    case .failure(let error):
      for (query, _) in lookups { resolutions[query] = Resolution(error: error) }
    }
    finishOne()
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
    case .owned(let entry, let user): apply(Ownership.decide(entry: entry, metadata: metadata, owner: user))
    case .ofActivity(let token, let id):
      if let device = Ownership.device(token, metadata: metadata, ofActivity: id) { devices.append(device) }
    }
  }

  /// Decides about entries of a user's set with their metadata.
  init(_ entries: [[UInt8]], _ metadata: some Sequence<[UInt8]?>, of user: String) {
    self.init()
    for (entry, metadata) in zip(entries, metadata) {
      apply(Ownership.decide(entry: entry, metadata: metadata, owner: user))
    }
  }
}
