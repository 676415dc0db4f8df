// Registers an app's device for push notifications at a Martlet sidecar. Drop this file into the app: Swift 5.9, iOS 15,
// no dependency. docs/first-push.md has every step around it.
//
//   let push = MartletDevice(server: URL(string: "https://push.example.com")!)
//
//   await push.signIn(as: .user("alice", secret: bearerToken))   // after sign-in, and at each launch while signed in
//   await push.askForPermission()                                // shows Apple's question once, and asks for the token
//   push.received(deviceToken)                                   // in didRegisterForRemoteNotificationsWithDeviceToken
//   try await push.signOut()                                     // before the app forgets the secret

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Security)
  import Security
#endif
#if canImport(UIKit) && !os(watchOS)
  import UIKit
#endif
#if canImport(UserNotifications)
  import UserNotifications
#endif

/// The device of an app at a Martlet sidecar: registers its tokens for whoever is signed in, and unregisters them.
///
/// Requests that fail by the network, or with 429 or 5xx, are repeated with growing random delays. Any other refusal ends the
/// registration until the next token or launch. The secret is kept in memory only.
public actor MartletDevice {
  /// Who gets the pushes, and the secret that `martlet credentials add` has printed.
  public enum Owner: Sendable, Equatable {
    /// A user, with one of the user's bearer tokens.
    case user(String, secret: String)
    /// An instance, such as a home server, with its device key. It has one token, of the kind `app`.
    case instance(String, key: String)
  }

  /// What a token is for: `app` is the one of `registerForRemoteNotifications`, the others come from their own frameworks.
  public enum Kind: String, Sendable, CaseIterable {
    case app, voip, complication, fileprovider, location, widgets, controls, pushtotalk

    /// Whether an app has one token at a time: each widget extension and each placed control has its own.
    var isSingle: Bool { self != .widgets && self != .controls }
  }

  /// The environment of APNs that a token belongs to: the provisioning profile decides.
  public enum Environment: String, Sendable {
    case production, sandbox
  }

  /// What happens, for the app's log. A token is shortened to 8 characters.
  public enum Event: Sendable, Equatable {
    case registered(token: String)
    case unregistered
    case waiting(seconds: Double, reason: String)
    case failed(reason: String)
  }

  /// The sidecar refused a request, or was not reached in all attempts.
  public struct Failure: Error, Equatable, CustomStringConvertible {
    /// Of the answer; 0 without an answer.
    public let status: Int
    public let description: String
  }

  /// A registration is repeated if it is older than this, in seconds. The sidecar keeps it for a year.
  static let renewal: TimeInterval = 24 * 60 * 60

  private let client: Client
  private let facts: @Sendable () async -> Facts
  private let store: Store
  private let report: @Sendable (Event) -> Void
  private var owner: Owner?
  /// Those that the system has given since the launch, with their kinds.
  private var tokens: [String: Kind] = [:]
  /// What the sidecar has confirmed since the launch, by token, and when.
  private var confirmed: [String: (request: Request, at: Date)] = [:]
  /// The registrations under way. Each waits for those before it.
  private var work: Task<Void, Never>?

  /// `server` is the address of the sidecar, of which the paths of the APIs are below. `report` is called for each event,
  /// on any thread.
  public init(server: URL, report: @escaping @Sendable (Event) -> Void = { _ in }) {
    self.init(client: Client(server: server), facts: { await .current() }, store: Store(), report: report)
  }

  init(
    client: Client, facts: @escaping @Sendable () async -> Facts, store: Store,
    report: @escaping @Sendable (Event) -> Void
  ) {
    self.client = client
    self.facts = facts
    self.store = store
    self.report = report
  }

  /// Registers the device for `owner`, as soon as its token is known. Sign another owner out first. Without that, the device
  /// of a user goes over to the next user when the sidecar answers, but an instance keeps it.
  public func signIn(as owner: Owner) {
    self.owner = owner
    renew()
  }

  /// Registers a token that the system has given to the app. Call it each time: tokens change.
  public nonisolated func received(_ token: Data, kind: Kind = .app) {
    let text = token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    Task { await use(text, kind) }
  }

  /// Unregisters the tokens of this device. If it throws, the owner is still signed in: call it again.
  public func signOut() async throws {
    guard let owner else { return }
    self.owner = nil
    confirmed = [:]
    let previous = work
    previous?.cancel()
    let ending = Task {
      await previous?.value
      try await unregister(owner)
    }
    // What is registered next waits for it.
    work = Task { _ = await ending.result }
    do {
      try await ending.value
    } catch {
      if self.owner == nil { self.owner = owner }
      report(.failed(reason: "\(error)"))
      throw error
    }
    report(.unregistered)
  }

  private func unregister(_ owner: Owner) async throws {
    let known = Set(store.tokens(of: await facts())).union(tokens.keys)
    for request in Request.unregistrations(of: known, owner: owner) {
      try await client.send(request, attempts: Retry.signOutAttempts, report: report)
    }
    store.removeAll()
  }

  private func use(_ token: String, _ kind: Kind) {
    if kind.isSingle { tokens = tokens.filter { $0.value != kind } }
    tokens[token] = kind
    renew()
  }

  /// Registers what is not confirmed. A registration that is under way for what was known before ends first.
  private func renew() {
    let previous = work
    previous?.cancel()
    work = Task {
      await previous?.value
      await register()
    }
  }

  private func register() async {
    let facts = await facts()
    guard let owner else { return }
    for (token, kind) in tokens.sorted(by: { $0.key < $1.key }) where !Task.isCancelled {
      guard let request = Request.registration(of: token, kind, owner: owner, facts) else { continue }
      if let last = confirmed[token], last.request == request, -last.at.timeIntervalSinceNow < MartletDevice.renewal {
        continue
      }
      // Written first: a registration whose answer is lost is unregistered at sign-out, too.
      store.add(token, of: facts)
      do {
        try await client.send(request, attempts: Retry.attempts, report: report)
        guard self.owner == owner else { return }
        confirmed[token] = (request, Date())
        report(.registered(token: String(token.prefix(8))))
      } catch is CancellationError {
        return
      } catch {
        report(.failed(reason: "\(error)"))
      }
    }
  }
}

// MARK: - What is known of the device

extension MartletDevice {
  /// What a registration says beside the token.
  struct Facts: Sendable, Equatable {
    var bundleID: String?
    /// Nil if the provisioning profile does not tell: the fleet finds out.
    var environment: MartletDevice.Environment?
    /// The language that the user prefers, as `de-DE`.
    var locale: String?
    /// Ties the tokens of this app on one phone.
    var deviceID: String?

    static func current() async -> Facts {
      let bundleID = Bundle.main.bundleIdentifier
      #if targetEnvironment(simulator)
        let environment: MartletDevice.Environment? = .sandbox
      #else
        let path = Bundle.main.url(forResource: "embedded", withExtension: "mobileprovision")
        let environment = Facts.environment(profile: path.map { (try? Data(contentsOf: $0)) ?? Data() })
      #endif
      return Facts(
        bundleID: bundleID, environment: environment, locale: Locale.preferredLanguages.first,
        deviceID: MartletDevice.deviceID)
    }

    /// Reads `aps-environment` in embedded.mobileprovision, a property list inside a signature. The App Store removes the file:
    /// without it a build is of production. Nil if the file has no such entitlement.
    static func environment(profile: Data?) -> MartletDevice.Environment? {
      guard let profile else { return .production }
      guard let start = profile.range(of: Data("<plist".utf8)),
        let end = profile.range(of: Data("</plist>".utf8), in: start.upperBound..<profile.endIndex),
        let list = try? PropertyListSerialization.propertyList(
          from: profile.subdata(in: start.lowerBound..<end.upperBound), format: nil),
        let entitlements = (list as? [String: Any])?["Entitlements"] as? [String: Any]
      else { return nil }
      switch entitlements["aps-environment"] as? String {
      case "development": return .sandbox
      case "production": return .production
      default: return nil
      }
    }
  }

  /// A random id of this app on this phone, which ties its tokens together. It stays when the app is installed again, which changes
  /// the identifier for the vendor and the token; and it does not go to another phone with a backup. Nil if the keychain is not
  /// available, as before the first unlock.
  public static var deviceID: String? {
    Keychain.text("MartletDevice.deviceID", of: Bundle.main.bundleIdentifier ?? "") { UUID().uuidString }
  }

  private enum Keychain {
    /// Returns what is kept under a name; at first what `make` returns.
    static func text(_ name: String, of account: String, make: () -> String) -> String? {
      #if canImport(Security)
        // The file keychain of macOS would go to another Mac with a backup.
        let place: [CFString: Any] = [
          kSecClass: kSecClassGenericPassword, kSecAttrService: name, kSecAttrAccount: account,
          kSecUseDataProtectionKeychain: true,
        ]
        if let known = read(place) { return known }
        let attributes: [CFString: Any] = [
          kSecValueData: Data(make().utf8),
          kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        // Another thread may have been first.
        SecItemAdd(place.merging(attributes) { $1 } as CFDictionary, nil)
        return read(place)
      #else
        return nil
      #endif
    }

    #if canImport(Security)
      private static func read(_ place: [CFString: Any]) -> String? {
        let question = place.merging([kSecReturnData: true]) { $1 }
        var found: CFTypeRef?
        guard SecItemCopyMatching(question as CFDictionary, &found) == errSecSuccess, let data = found as? Data else {
          return nil
        }
        return String(data: data, encoding: .utf8)
      }
    #endif
  }

  /// The tokens that were registered since the last sign-out, over launches: they are unregistered then, also those that the
  /// system has replaced, and before it has given one in this launch.
  struct Store: @unchecked Sendable {
    private static let tokens = "MartletDevice.tokens"
    private static let device = "MartletDevice.deviceID"
    /// The oldest is forgotten first. The sidecar keeps as many of a user by default.
    private static let maximumTokens = 100
    /// Safe to use from any thread.
    var defaults = UserDefaults.standard

    /// Empty if they were written on another phone, from whose backup this one was restored.
    func tokens(of facts: Facts) -> [String] {
      guard let deviceID = facts.deviceID, let writer = defaults.string(forKey: Store.device),
        writer == deviceID || Store.isFormer(writer, of: facts.bundleID)
      else { return [] }
      return defaults.stringArray(forKey: Store.tokens) ?? []
    }

    /// Whether an earlier version of this file has named the phone: by the identifier for the vendor and the app. The next token
    /// replaces that name.
    private static func isFormer(_ writer: String, of bundleID: String?) -> Bool {
      bundleID.map { writer.hasSuffix(":\($0)") } ?? false
    }

    func add(_ token: String, of facts: Facts) {
      let stored = tokens(of: facts).filter { $0 != token } + [token]
      defaults.set(Array(stored.suffix(Store.maximumTokens)), forKey: Store.tokens)
      defaults.set(facts.deviceID, forKey: Store.device)
    }

    func removeAll() {
      defaults.removeObject(forKey: Store.tokens)
      defaults.removeObject(forKey: Store.device)
    }
  }
}

// MARK: - Requests

extension MartletDevice {
  /// A request to the sidecar: docs/http/push-api.md for users, docs/http/instance-api.md for instances.
  struct Request: Sendable, Equatable {
    var method = "POST"
    var path: String
    var headers: [String: String]
    var body: [String: String]?

    /// Returns nil for what cannot be registered: an instance has a token of the kind `app` only.
    static func registration(
      of token: String, _ kind: MartletDevice.Kind, owner: MartletDevice.Owner, _ facts: Facts
    ) -> Request? {
      var body = ["environment": facts.environment?.rawValue, "bundleId": facts.bundleID].compactMapValues { $0 }
      switch owner {
      case .user:
        body["token"] = token
        body["kind"] = kind.rawValue
        // A new token of a phone replaces the former one of its kind.
        body["deviceId"] = kind.isSingle ? facts.deviceID : nil
        body["locale"] = facts.locale
        return Request(path: "api/push/register", headers: owner.headers, body: body)
      case .instance:
        guard kind == .app else { return nil }
        body["apns_device_token"] = token
        body["environment"] = body["environment"] ?? MartletDevice.Environment.production.rawValue
        return Request(path: "push/apns/register", headers: owner.headers, body: body)
      }
    }

    static func unregistrations(of tokens: Set<String>, owner: MartletDevice.Owner) -> [Request] {
      switch owner {
      case .user:
        return tokens.sorted().map { token in
          Request(path: "api/push/unregister", headers: owner.headers, body: ["token": token])
        }
      case .instance:
        return [Request(method: "DELETE", path: "push/apns/register", headers: owner.headers, body: nil)]
      }
    }

    func urlRequest(_ server: URL) -> URLRequest {
      var request = URLRequest(url: server.appendingPathComponent(path), timeoutInterval: 30)
      request.httpMethod = method
      for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
      if let body {
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try? JSONEncoder().encode(body)
      }
      return request
    }
  }
}

extension MartletDevice.Owner {
  fileprivate var headers: [String: String] {
    switch self {
    case .user(let name, let secret): return ["Authorization": "Bearer \(secret)", "X-Username": name]
    case .instance(let id, let key): return ["X-Nyra-Device-Key": key, "X-Nyra-Instance-Id": id]
    }
  }
}

// MARK: - Sending

extension MartletDevice {
  /// Whether a request is repeated, and when.
  enum Retry: Equatable {
    /// Of a registration: about four minutes in all.
    static let attempts = 8
    /// Of an unregistration, for which the user waits.
    static let signOutAttempts = 4
    /// Seconds; doubled at each attempt.
    static let firstDelay = 1.0
    static let longestDelay = 300.0
    /// Seconds; a longer `Retry-After` is shortened to this.
    static let longestRetryAfter = 3600

    case done
    /// Seconds.
    case again(after: Double)
    case failed

    /// Decides after attempt `number`, from 1. `retryAfter` is that of the answer, in seconds; `random` is from 0..<1.
    init(status: Int, retryAfter: Double?, attempt number: Int, of attempts: Int, random: Double) {
      switch status {
      case 200..<300: self = .done
      case 0, 429, 500...:
        guard number < attempts else {
          self = .failed
          return
        }
        let longest = min(Retry.longestDelay, Retry.firstDelay * Double(1 << min(number - 1, 16)))
        // As long as the sidecar asks for, and then not all devices at once.
        self = .again(after: (retryAfter ?? 0) + longest * random)
      default: self = .failed
      }
    }
  }

  /// Sends requests to the sidecar and repeats them. Its parts are replaced in tests.
  struct Client: Sendable {
    typealias Answer = (status: Int, retryAfter: Double?, body: Data)

    var server: URL
    var exchange: @Sendable (URLRequest) async throws -> Answer = { try await Session.exchange($0) }
    var wait: @Sendable (Double) async throws -> Void = { try await Task.sleep(nanoseconds: UInt64($0 * 1e9)) }
    var random: @Sendable () -> Double = { .random(in: 0..<1) }

    init(server: URL) {
      self.server = server
    }

    /// Throws a ``MartletDevice/Failure``, or a `CancellationError` if the task is cancelled.
    func send(_ request: Request, attempts: Int, report: (MartletDevice.Event) -> Void) async throws {
      for number in 1...attempts {
        try Task.checkCancellation()
        let failure: MartletDevice.Failure
        var retryAfter: Double?
        do {
          // Not cancelled with this task: a request under way ends before the next one begins.
          let answer = try await Task { try await exchange(request.urlRequest(server)) }.value
          let text = String(decoding: answer.body.prefix(200), as: UTF8.self)
          failure = .init(status: answer.status, description: "\(request.path): \(answer.status) \(text)")
          retryAfter = answer.retryAfter
        } catch {
          failure = .init(status: 0, description: "\(request.path): \(error.localizedDescription)")
        }
        switch Retry(
          status: failure.status, retryAfter: retryAfter, attempt: number, of: attempts, random: random())
        {
        case .done: return
        case .failed: throw failure
        case .again(let seconds):
          report(.waiting(seconds: seconds, reason: failure.description))
          try await wait(seconds)
        }
      }
    }
  }

  /// Redirections are not followed: they would carry the secret to another address.
  fileprivate final class Session: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    private static let shared = URLSession(configuration: .ephemeral, delegate: Session(), delegateQueue: nil)

    static func exchange(_ request: URLRequest) async throws -> Client.Answer {
      let (body, response) = try await shared.data(for: request)
      guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
      let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
      return (response.statusCode, retryAfter.map { Double(min(max($0, 0), Retry.longestRetryAfter)) }, body)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }
}

// MARK: - Permission

#if canImport(UIKit) && canImport(UserNotifications) && !os(watchOS)
  extension MartletDevice {
    /// Asks the user for permission, of which Apple shows the question once, and asks the system for the token. Returns
    /// whether notifications may be shown. The token comes without permission, too: background pushes need none.
    @discardableResult
    public nonisolated func askForPermission(_ options: UNAuthorizationOptions = [.alert, .badge, .sound]) async -> Bool
    {
      let isGranted = (try? await UNUserNotificationCenter.current().requestAuthorization(options: options)) ?? false
      await MainActor.run { UIApplication.shared.registerForRemoteNotifications() }
      return isGranted
    }
  }
#endif
