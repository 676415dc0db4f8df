import JSON
import Jobs
import PushModel
import Queue
import Redis

/// A job for display, which stays where it is. Only the beginning of a long job is read.
public struct BrowsedJob: Sendable, Equatable {
  /// Where it is in its sorted set; nil in a list.
  public let position: SortedPosition?
  /// Whether it is a paused broadcast, which waits among the scheduled jobs.
  public var isPaused: Bool { position?.isWithoutDate ?? false }

  /// Tells this element from others of the same score.
  public let digest: String
  /// The attempts that it has had.
  public let attempts: Int
  /// The name that the fleet gave to the element; nil if no worker has claimed it yet.
  public let nonce: String?
  /// The producer's bytes, or their beginning.
  public let job: [UInt8]
  /// How many bytes the producer's job has.
  public let jobBytes: Int
  /// Only of a dead letter.
  public let burial: Burial?

  /// The first line of a dead letter.
  public struct Burial: Sendable, Equatable {
    public let id: String?
    public let reason: String
    /// Unix ms.
    public let at: Int64
    public let attempts: Int
  }

  /// The id that its record has; nil if it gets one when a worker claims it.
  public var id: String? {
    burial?.id ?? JobSummary(job: job).id ?? nonce.map(JobID.derived(nonce:))
  }

  /// Names the element in a form that a later request sends back; nil in a list. See ``Reference``.
  public var reference: Reference? {
    position.map { Reference(position: $0, digest: digest) }
  }

  /// An element of a sorted set, by which a later action finds it.
  public struct Reference: Sendable, Equatable {
    public let position: SortedPosition
    public let digest: String

    fileprivate static let digests = Charset(of: "0123456789abcdef", length: 40...40, "SHA-1")

    public var text: String { "\(position.text),\(digest)" }
  }
}

extension BrowsedJob.Reference {
  /// Reads `<score>,<skip>,<digest>`. Returns nil for anything else.
  public init?(_ text: String) {
    guard let comma = text.lastIndex(of: ","), let position = SortedPosition(text[..<comma]) else { return nil }
    let digest = String(text[text.index(after: comma)...])
    guard BrowsedJob.Reference.digests.accepts(digest) else { return nil }
    self.init(position: position, digest: digest)
  }
}

extension BrowsedJob.Burial {
  /// Returns nil if `line` is not the first line of a dead letter.
  init?(line: [UInt8]) {
    guard let head = try? JSONValue(parsing: line), let reason = head["reason"]?.string else { return nil }
    id = head["id"]?.string
    self.reason = reason
    at = head["at"]?.time ?? 0
    attempts = head["attempts"]?.count ?? 0
  }
}

extension BrowsedJob {
  /// The numbers of an envelope, which have up to nine digits.
  private static let counts = 0...999_999_999

  /// Reads what `describe` of ``BrowsingScripts/describing`` returns. Returns nil for anything else.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 8, let score = parts[0].string, let skip = parts[1].count,
      let digest = parts[2].string, let head = parts[3].bytes, let job = parts[6].bytes, let jobBytes = parts[7].count
    else { return nil }
    position = SortedPosition(score: score, skip: skip)
    self.digest = digest
    burial = head.isEmpty ? nil : Burial(line: head)
    attempts = burial?.attempts ?? parts[4].string?.integer(in: BrowsedJob.counts) ?? 0
    nonce = parts[5].contents.map { String(decoding: $0, as: UTF8.self) }
    self.job = job
    self.jobBytes = jobBytes
  }
}
