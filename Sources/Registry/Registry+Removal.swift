import EventLoop
public import PushModel
public import Redis

/// A device whose token APNs refused as invalid.
public struct StaleDevice: Sendable, Equatable {
  public let token: DeviceToken
  /// Owner and app as the resolution returned them; the owner of an anonymous device is empty.
  public let owner: String
  public let bundleID: String?
  /// Unix milliseconds. A later registration is kept. If APNs named no time, this is the time of the registration.
  public let notAfter: Int64
  /// APNs' reason, for the event.
  public let reason: String

  /// The reason of an answer without one.
  public static let unknownReason = "stale"

  public init(
    token: DeviceToken, owner: String, bundleID: String?, notAfter: Int64, reason: String = StaleDevice.unknownReason
  ) {
    self.token = token
    self.owner = owner
    self.bundleID = bundleID
    self.notAfter = notAfter
    self.reason = reason
  }
}

extension Registry {
  public typealias CountCompletion = @EventLoop (Result<Int, RedisError>) -> Void

  /// Removes entries from a user's set, each only if its metadata is still missing or another user's. Passes their
  /// number.
  public func clean(user: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in try await self.clean(user: user, removals) }
  }

  /// Removes entries as ``clean(user:_:completion:)`` does, and returns their number.
  public func clean(user: String, _ removals: [Removal]) async throws(RedisError) -> Int {
    try await executor.clean(.user(user), removals)
  }

  /// Removes entries from an app's audience, each only if its metadata is still missing or another app's.
  public func clean(app: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in try await self.executor.clean(.audience(app), removals) }
  }

  /// Removes devices, each only if it has the same owner and was not registered after `notAfter`. Passes their number.
  public func removeStale(_ devices: [StaleDevice], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in
      try await self.executor.complete(devices.map { ($0.token.text, .removeStale($0)) }).count { $0.end == .written }
    }
  }

  /// Stores the environments in which APNs accepted devices, each unless the device was registered again since. Passes how many
  /// were stored.
  public func learn(_ accepted: [AcceptedDevice], completion: @escaping CountCompletion) {
    complete(completion) { () async throws(RedisError) in
      var count = 0
      let instances = accepted.compactMap(\.instanceOperation)
      if !instances.isEmpty { count += try await self.instances.run(instances).count(where: \.isWritten) }
      let others = accepted.compactMap(\.tokenOperation)
      if !others.isEmpty { count += try await self.executor.complete(others).count { $0.end == .written } }
      return count
    }
  }

  func complete(
    _ completion: @escaping CountCompletion, with body: @escaping @EventLoop () async throws(RedisError) -> Int
  ) {
    EventLoop.start {
      do throws(RedisError) {
        completion(.success(try await body()))
      } catch {
        completion(.failure(error))
      }
    }
  }
}
