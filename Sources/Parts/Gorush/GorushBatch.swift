import Credentials
import Jobs
import JSON
import PushModel
import Sidecar

/// The jobs of one request, and what is reported of its notifications.
struct GorushBatch {
  /// Of 64 digits each, they fill half of the largest job.
  static let tokensOfJob = 500
  /// Scalars of the sender's text that an answer repeats.
  private static let maximumQuote = 200

  /// The apps that the caller is for.
  let apps: AppBinding
  /// As JSON.
  private(set) var jobs: [[UInt8]] = []
  /// Tokens in ``jobs``.
  private(set) var count = 0
  private(set) var logs: [JSONObject] = []

  init(apps: AppBinding) {
    self.apps = apps
  }

  mutating func add(_ json: JSONValue) {
    let fields = GorushFields(json: json)
    do throws(GorushFault) {
      let tokens = try fields.tokens()
      guard fields.platform == "ios" else {
        let fault = "unsupported platform: Martlet sends to APNs only"
        return (tokens.isEmpty ? [""] : tokens).forEach { log(fault, of: fields, token: $0) }
      }
      guard !tokens.isEmpty else { throw GorushFault(reason: "tokens: missing; name at least one device token") }
      let notification = try GorushNotification(fields, for: apps)
      try enqueue(notification, to: valid(tokens, of: fields))
      guard !notification.ignored.isEmpty else { return }
      log("ignored: \(notification.ignored.joined(separator: ", "))", of: fields, type: "ignored-fields")
    } catch {
      log(error.reason, of: fields)
    }
  }

  /// Returns the tokens that can be sent to, and reports the others.
  private mutating func valid(_ tokens: [String], of fields: GorushFields) -> [DeviceToken] {
    tokens.compactMap { token in
      do throws(Refusal) {
        return try RequestFields.anyToken(token, "tokens")
      } catch {
        log(error.message ?? error.error, of: fields, token: token)
        return nil
      }
    }
  }

  private mutating func enqueue(_ notification: GorushNotification, to tokens: [DeviceToken]) throws(GorushFault) {
    var made: [[UInt8]] = []
    for start in stride(from: 0, to: tokens.count, by: GorushBatch.tokensOfJob) {
      let part = tokens[start..<min(start + GorushBatch.tokensOfJob, tokens.count)]
      let job = notification.job(to: Array(part), number: made.count)
      do { _ = try Job(parsing: job).apnsPayload() } catch { throw GorushFault(reason: error.reason) }
      made.append(job)
    }
    jobs += made
    count += tokens.count
  }

  private mutating func log(
    _ error: String, of fields: GorushFields, token: String = "", type: String = "failed-push"
  ) {
    func shortened(_ text: String?) -> String? {
      text.map { String($0.unicodeScalars.prefix(GorushBatch.maximumQuote)) }
    }
    logs.append([
      "notif_id": shortened(fields.json["notif_id"]?.string), "type": type, "platform": fields.platform,
      "token": shortened(token), "message": shortened(fields.json["message"]?.string) ?? "", "error": shortened(error),
    ])
  }
}
