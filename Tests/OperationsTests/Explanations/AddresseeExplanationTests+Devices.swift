import PushModel
import Testing
@testable import Operations
@testable import Queue
@testable import Registry

// What a device is registered as, and why a refused one is kept.
extension AddresseeExplanationTests {
  @Test func `a device that one environment has refused is kept, because the other may accept it`() {
    var device = device()
    device.refusal = refusal("BadDeviceToken")
    for environment in [PushEnvironment.production, nil] {
      device.metadata?.environment = environment
      let finding = AddresseeExplanation(facts(.user("alice"), [device])).findings[0]
      #expect(finding.severity == .problem)
      #expect(
        finding.text
          == "APNs refused device 0000feed… with BadDeviceToken (400, production, com.a), job j. It is kept: "
          + "that sandbox refuses it, too, is not proven.")
      #expect(finding.since == Self.now - 1000)
      #expect(finding.fix?.hasPrefix("A later push asks sandbox, if a key may send there.") == true)
    }
    device.metadata?.environment = .sandbox
    let explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.isReachable)
    #expect(explanation.findings[0].text.hasSuffix("; it is known to be of sandbox since then."))
  }

  @Test func `a refusal under another topic than the device's own is no problem of the device`() {
    var device = device()
    device.refusal = refusal("DeviceTokenNotForTopic")
    #expect(problems(facts(.user("alice"), [device])).count == 1)
    device.refusal?.topic = "com.b"
    var explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.isReachable)
    #expect(explanation.findings[0].severity == .warning)
    #expect(
      explanation.findings[0].text
        == "APNs refused device 0000feed… with DeviceTokenNotForTopic (400, production, com.b), job j. It is kept, because "
        + "its own topic is com.a: the app or the push type of the job was wrong.")
    device.metadata?.kind = .voip
    device.refusal?.topic = "com.a"
    explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.findings[0].text.contains("its own topic is com.a.voip"))
    device.metadata?.bundleID = nil
    explanation = AddresseeExplanation(facts(.user("alice"), [device]))
    #expect(explanation.findings.contains { $0.text.contains("It is kept, because it was registered for no app") })
  }

  @Test func `a device tells its kind, its phone and an environment that is not known`() {
    var device = device()
    device.metadata?.environment = nil
    device.metadata?.kind = .voip
    device.metadata?.deviceID = "iphone-1"
    #expect(
      AddresseeExplanation(facts(.token(Self.token), [device])).findings.map(\.text).first
        == "Device 0000feed… is registered for com.a, environment unknown, kind voip, phone iphone-1. Only pushes of the type "
        + "voip reach it. A push is tried in production first and, on BadDeviceToken, once in sandbox, if a key may send "
        + "there; the environment that accepts it is stored.")
    var own = facts(.token(Self.token), [device])
    own.fleet.workers["w"]?.appStates = [AppState(bundleIDs: ["com.a"], team: "T", keys: [])]
    own.fleet.workers["w"]?.appStates[0].environment = .sandbox
    #expect(AddresseeExplanation(own).findings[0].text.contains("tried in sandbox first"))
  }

  @Test func `a user whose devices are all of other kinds gets no alerts`() {
    var (voip, other) = (device(), device())
    voip.metadata?.kind = .voip
    let explanation = AddresseeExplanation(facts(.user("alice"), [voip, voip]))
    #expect(
      explanation.outcome
        == "As far as Martlet knows, pushes reach all devices of user alice (2). User alice has no device of the kind app, "
        + "only voip (2), so alert and background pushes reach none of them.")
    #expect(explanation.findings.filter { $0.severity == .warning }.count == 1)
    other.removal = nil
    #expect(!AddresseeExplanation(facts(.user("alice"), [voip, other])).outcome.contains("of the kind app"))
  }

  @Test func `a device without an app is one of the default app, if there is one`() {
    let apps = AppsReport(
      bundleIDs: ["com.a"], servesOthers: false, defaultApp: "com.a", defaultEnvironment: "production")
    let finding = AddresseeExplanation(facts(.user("alice"), [device(nil)], apps: apps)).findings[0]
    #expect(finding.severity == .fact)
    #expect(
      finding.text
        == "Device 0000feed… is registered for no app, production. It is a device of the default app, com.a "
        + "(APNS_BUNDLE_ID). Jobs to the app (to.app) reach it once a worker has stored that, within an hour.")
    let none = AppsReport(bundleIDs: [], servesOthers: false, defaultApp: nil, defaultEnvironment: "production")
    let polling = AddresseeExplanation(facts(.user("alice"), [device(nil)], apps: none))
    #expect(polling.findings.contains { $0.severity == .warning && $0.text.contains("(to.app) never reach it") })
  }

  @Test func `a paused route of another kind does not concern a device`() {
    var facts = facts(.user("alice"), [device()])
    facts.fleet.workers["w"]?.pausedRoutes = [
      RouteNotice(environment: .production, topic: "com.a.voip", reason: "TopicDisallowed", since: 7)
    ]
    #expect(AddresseeExplanation(facts).isReachable)
    facts.devices[0].metadata?.kind = .voip
    #expect(!AddresseeExplanation(facts).isReachable)
  }
}
