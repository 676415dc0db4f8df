import APNs
import EventLoop
import FleetSupport
import Jobs
import PushModel
import Registry
@testable import Queue
@testable import Worker

extension Claim {
  /// A claim on a producer's JSON.
  static func testing(_ json: String, crashes: Int = 0, state: AttemptState = AttemptState(), now: Int64 = 0) -> Claim {
    let envelope = Envelope(crashes: crashes, nonce: "nonce", state: state.json(), job: Array(json.utf8))
    return Claim(queueIndex: 0, element: envelope.element, nonce: "nonce", now: now, monotonic: 0)
  }
}

extension Intake {
  @EventLoop
  static func testing(mode: DeliveryMode = .atLeastOnce) -> Intake {
    Intake(classes: TestClasses(), queues: ["jobs"], mode: mode)
  }
}

extension Delivery {
  static func testing(_ json: String, state: AttemptState = AttemptState()) throws -> Delivery {
    let claim = Claim.testing(json, state: state)
    guard case .deliver(let delivery) = Intake.testing().decide(claim, worker: "w", now: 0) else {
      throw UndeliverableJob(json: json)
    }
    return delivery
  }

  /// Drafts for devices named `<name>0`, `<name>1` and so on.
  func drafts(_ count: Int, named name: String, app: String = "com.example") -> [PushDraft] {
    let content = PushContent(
      self, payload: [], bundleID: app, environment: .sandbox, question: TokenQuestion(asked: .sandbox, isLast: true))
    return (0..<count).map { number in
      PushDraft(delivery: self, device: Device(token: "\(name)\(number)"), content: content, page: nil)
    }
  }
}

private struct UndeliverableJob: Error {
  let json: String
}
