import PushModel
import Testing

@testable import Operations
@testable import Queue
@testable import Registry

/// What is said about a user, a token and an instance.
struct AddresseeExplanationTests {
  static let now: Int64 = 1_795_264_200_000
  static let token = "0000feedcafe0123456789" + String(repeating: "0", count: 42)

  func facts(
    _ addressee: InspectedAddressee = .user("alice"), _ devices: [DeviceFacts] = [], apps: AppsReport? = nil,
    hasWorkers: Bool = true
  ) -> AddresseeFacts {
    let text = TimeText(now: Self.now, localTime: LocalTime { _ in 3600 })
    var facts = AddresseeFacts(addressee: addressee, devices: devices, text: text)
    facts.setSize = Int64(devices.count)
    if hasWorkers {
      var report = WorkerReport(
        startedAt: 1, jobs: 0, jobsPerSecond: 0, outstanding: 0, inFlight: 0, concurrency: 512)
      report.apps =
        apps
        ?? AppsReport(bundleIDs: ["com.a"], servesOthers: false, defaultApp: nil, defaultEnvironment: "production")
      facts.fleet.workers = ["w": report]
    }
    return facts
  }

  func device(
    _ app: String? = "com.a", platform: Platform = .ios, owner: String = "alice", updatedAt: Int64 = now - 5000
  ) -> DeviceFacts {
    let metadata = DeviceMetadata(
      username: Username(owner), platform: platform, updatedAt: updatedAt, bundleID: app, environment: .production)
    return DeviceFacts(token: Self.token, metadata: metadata)
  }

  func refusal(_ reason: String, _ status: Int = 400, at: Int64 = now - 1000) -> RefusalNote {
    RefusalNote(reason: reason, status: status, at: at, jobID: "j", topic: "com.a", environment: .production)
  }

  func problems(_ facts: AddresseeFacts) -> [String] {
    AddresseeExplanation(facts).findings.filter { $0.severity == .problem }.map(\.text)
  }

  @Test func `a user whose devices can be reached`() {
    let explanation = AddresseeExplanation(facts(.user("alice"), [device()]))
    #expect(explanation.subject == "user alice")
    #expect(explanation.isReachable)
    #expect(explanation.outcome == "As far as Martlet knows, pushes reach all devices of user alice (1).")
    #expect(
      explanation.findings == [
        Finding(
          .fact, "Device 0000feed… is registered for com.a, production.", since: Self.now - 5000, subject: "0000feed…")
      ])
  }

  @Test func `a user without devices`() {
    let explanation = AddresseeExplanation(facts())
    #expect(!explanation.isKnown)
    #expect(!explanation.isReachable)
    #expect(explanation.outcome == "No push reaches user alice. No device is registered for user alice.")
  }

  @Test func `entries that are not devices of the user`() {
    var other = device(owner: "bob")
    other.removal = .otherOwner
    let gone = DeviceFacts(token: Self.token, removal: .noMetadata)
    let odd = DeviceFacts(token: "odd", removal: .malformedToken)
    let facts = facts(.user("alice"), [other, gone, odd, device()])
    #expect(
      problems(facts) == [
        "Device 0000feed… belongs to user bob now.",
        "The registration of device 0000feed… has expired or was deleted.",
        "Device odd cannot be used: not a device token.",
      ])
    #expect(
      AddresseeExplanation(facts).outcome == "As far as Martlet knows, pushes reach 1 of 4 devices of user alice.")
  }

  @Test func `android, an unknown app and no app`() {
    let facts = facts(.user("alice"), [device(platform: .android), device("com.b"), device(nil)])
    #expect(
      problems(facts) == [
        "Device 0000feed… is registered as android, which APNs does not serve.",
        "Device 0000feed… is registered for com.b, which no worker has an app for.",
        "Device 0000feed… is registered for no app, and the workers have no default app (APNS_BUNDLE_ID): jobs to an app "
          + "(to.app) never reach it, and other jobs only if they name the app.",
      ])
    #expect(
      AddresseeExplanation(facts).outcome
        == "No push reaches user alice. Device 0000feed… is registered as android, which APNs does not serve.")
  }

  @Test func `a device under a text that is no token of APNs`() {
    let firebase = DeviceFacts(token: "dGVzdHRva2Vu:APA91bExample0123456789", metadata: device().metadata)
    let explanation = AddresseeExplanation(facts(.user("alice"), [firebase]))
    #expect(!explanation.isReachable)
    #expect(explanation.findings.count == 1)
    #expect(
      explanation.findings[0].text
        == "Device dGVzdHRv… is registered under a text that is no token of APNs. Nothing is sent to it.")
    #expect(explanation.findings[0].fix?.contains("didRegisterForRemoteNotifications") == true)
  }

  @Test(arguments: [false, true]) func `a device that no environment knew which could be asked`(hasNote: Bool) {
    var device = device()
    device.metadata?.unreachable = 7
    if hasNote { device.refusal = refusal("BadDeviceToken") }
    let facts = facts(.user("alice"), [device])
    #expect(
      problems(facts) == [
        "No environment that could be asked knew device 0000feed…, with the keys and endpoints of then. Nothing is sent to "
          + "it until they change or it registers again."
      ])
    #expect(!AddresseeExplanation(facts).isReachable)
  }

  @Test func `a paused route`() {
    var facts = facts(.user("alice"), [device()])
    facts.fleet.workers["w"]?.pausedRoutes = [
      RouteNotice(environment: .sandbox, topic: "com.a", reason: "x", since: 3),
      RouteNotice(environment: .production, topic: "com.a", reason: "TopicDisallowed", since: 7),
    ]
    let finding = AddresseeExplanation(facts).findings[0]
    #expect(
      finding.text == "The route com.a (production) is paused, because APNs refuses it: TopicDisallowed.")
    #expect(finding.since == 7)
    #expect(finding.fix?.hasPrefix("Check the bundle id") == true)
  }

  @Test func `a refusal before the last registration is no problem`() {
    var device = device()
    device.refusal = refusal("Unregistered", 410, at: Self.now - 9000)
    let explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.isReachable)
    #expect(
      explanation.findings.map(\.text).contains(
        "APNs refused device 0000feed… with Unregistered (410, production, com.a), job j; it has been registered again since then."
      ))
  }

  @Test func `a fault of APNs is a warning`() {
    var device = device()
    device.refusal = refusal("InternalServerError", 500)
    let explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.isReachable)
    #expect(explanation.findings.map(\.severity) == [.warning, .fact])
  }

  @Test func `no worker, and workers without a key`() {
    let none = AddresseeExplanation(facts(.user("alice"), [device()], hasWorkers: false))
    #expect(none.outcome == "No push reaches user alice. No worker runs, so no job is sent.")
    let apps = AppsReport(bundleIDs: [], servesOthers: false, defaultApp: nil, defaultEnvironment: "production")
    let polling = facts(.user("alice"), [device("com.b")], apps: apps)
    #expect(
      problems(polling) == [
        "The workers have no key for APNs (polling-only mode): nothing is pushed, but everything can be polled."
      ])
  }

  @Test func `a token tells whose it is`() {
    let mine = AddresseeExplanation(facts(.token(Self.token), [device()]))
    #expect(mine.subject == "token 0000feed…")
    #expect(mine.outcome == "As far as Martlet knows, pushes reach token 0000feed….")
    #expect(mine.findings.map(\.text).contains("It belongs to user alice."))
    var stray = facts(.token(Self.token), [device()])
    stray.isInSetOfOwner = false
    #expect(AddresseeExplanation(stray).findings[0].severity == .warning)
    let nobody = AddresseeExplanation(facts(.token(Self.token), [device(owner: "")]))
    #expect(
      nobody.findings.map(\.text).contains(
        "It belongs to no user: only jobs to its app or to the token reach it."))
  }

  @Test func `a token of an instance tells which`() {
    var device = device(owner: "")
    device.instance = "home"
    var explanation = AddresseeExplanation(facts(.token(Self.token), [device]))
    #expect(explanation.isReachable)
    #expect(explanation.findings.map(\.text).contains("It is the device of instance home."))
    #expect(!explanation.findings.contains { $0.text.contains("belongs to no user") })
    device.isSuspended = true
    explanation = AddresseeExplanation(facts(.instance("home"), [device]))
    #expect(!explanation.isReachable)
    #expect(
      explanation.findings[0].text
        == "The credential of instance home is disabled or revoked. Nothing is sent to its device 0000feed….")
    device.isStale = true
    #expect(problems(facts(.instance("home"), [device]))[0].contains("is not valid any more"))
  }

  @Test func `a token that was removed as stale`() {
    let device = DeviceFacts(token: Self.token, refusal: refusal("Unregistered", 410))
    let explanation = AddresseeExplanation(facts(.token(Self.token), [device]))
    #expect(explanation.isKnown)
    #expect(explanation.outcome == "No push reaches token 0000feed…. Device 0000feed… is not registered now.")
    #expect(
      problems(facts(.token(Self.token), [device])).last
        == "APNs refused device 0000feed… with Unregistered (410, production, com.a), job j. It was removed then, unless "
        + "it was registered under no user and no app.")
  }

  @Test func `a device that is registered was not removed, also if a note says so`() {
    var facts = facts(.user("alice"), [device()])
    facts.removal = refusal("Unregistered", 410)
    facts.removal?.token = DeviceToken(Self.token)
    let explanation = AddresseeExplanation(facts)
    #expect(explanation.isReachable)
    #expect(!explanation.findings.contains { $0.text.contains("was removed") }, "\(explanation.findings)")
  }

  @Test func `a user whose only device was removed is told why`() {
    var facts = facts()
    facts.removal = refusal("BadDeviceToken")
    facts.removal?.token = DeviceToken(Self.token)
    let explanation = AddresseeExplanation(facts)
    #expect(explanation.isKnown)
    #expect(
      explanation.outcome
        == "No push reaches user alice. No device is registered for user alice. Device 0000feed… was removed: APNs refused "
        + "it with BadDeviceToken (400, production, com.a), job j.")
    facts.devices = [device()]
    #expect(AddresseeExplanation(facts).isReachable)
  }

  @Test func `a registration with a date later than now is not later than a refusal`() {
    var device = device(updatedAt: Self.now + 60_000)
    device.refusal = refusal("Unregistered", 410)
    #expect(!AddresseeExplanation(facts(.user("alice"), [device])).findings.contains { $0.text.contains("since then") })
  }

  @Test func `whole tokens are shown only if they are asked for`() {
    var facts = facts(.token(Self.token), [device()])
    facts.showsWholeTokens = true
    let explanation = AddresseeExplanation(facts)
    #expect(explanation.subject == "token \(Self.token)")
    #expect(explanation.findings.contains { $0.text.contains(Self.token) })
  }

  @Test func `an instance tells what parts know of it`() throws {
    var device = device(owner: "")
    (device.instance, device.isStale) = ("home", true)
    device.refusal = refusal("Unregistered", 410)
    var facts = facts(.instance("home"), [device])
    facts.parts = [PartFacts(findings: [Finding(.fact, "Its limit is used.")], isKnown: true, page: nil)]
    let explanation = AddresseeExplanation(facts)
    #expect(!explanation.isReachable)
    #expect(
      explanation.findings.map(\.text) == [
        "APNs reported the token of the instance, 0000feed…, as invalid. Nothing is sent to it.",
        "APNs refused device 0000feed… with Unregistered (410, production, com.a), job j.",
        "Its limit is used.",
      ])
  }

  @Test func `the latest notification that no push carried leads to its job`() {
    var facts = facts()
    facts.missed = MissedNotification(jobID: "j-9", status: "no_devices", at: 5)
    let finding = AddresseeExplanation(facts).findings.last
    #expect(finding?.text == "The latest notification that no push carried is of job j-9 (no_devices).")
    #expect(finding?.fix == "martlet explain j-9")
  }
}
