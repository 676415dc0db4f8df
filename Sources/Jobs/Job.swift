public import PushModel

/// A job, version 1: who gets what, and how. docs/job.schema.json describes its JSON.
public struct Job: Sendable, Equatable {
  /// Of the whole text, in bytes.
  public static let maximumBytes = 65536
  public static let maximumTokens = 1000
  /// 28 days, in seconds: longer than APNs keeps a notification.
  public static let maximumTTL: Int64 = 2_419_200

  /// 1..128 of `A-Za-z0-9._:-`. Nil: the consumer assigns one.
  public let id: String?
  public let addressee: Addressee
  /// Bundle id; nil: the token's own.
  public let app: String?
  public let content: JobContent
  /// As given; else `background` for a notification that nobody sees or hears and that has `contentAvailable`, else `alert`.
  public let pushType: PushType
  /// 1, 5 or 10. As given; else 5 for `background`, 10 for the others.
  public let priority: Int
  /// At most 64 bytes.
  public let collapseID: String?
  /// Unix seconds; never together with `ttl`.
  public let expiration: Int64?
  /// Seconds.
  public let ttl: Int64?
  /// Unix milliseconds: not before.
  public let sendAt: Int64?
  /// Unix milliseconds, by the producer's clock.
  public let enqueuedAt: Int64?
  public let dedupe: String?
  /// Rather lost than sent twice: what may have arrived is not sent again.
  public let atMostOnce: Bool
  /// A list key.
  public let replyTo: String?
}
