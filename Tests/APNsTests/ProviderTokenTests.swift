import COpenSSL
import EventLoop
import Foundation
import Telemetry
import Testing

@testable import APNs

@EventLoop
struct ProviderTokenTests {
  private func key() throws -> ProviderKey {
    try ProviderKey(keyID: "ABCDE12345", teamID: "TEAM567890", pem: TestKey.pem)
  }

  private func decode(_ part: Substring) throws -> Data {
    let text = part.replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try #require(Data(base64Encoded: text + padding))
  }

  @Test func `header and claims are as Apple documents`() throws {
    let parts = String(decoding: try key().sign(issuedAt: 1_700_000_000), as: UTF8.self).split(separator: ".")
    #expect(parts.count == 3)
    #expect(String(decoding: try decode(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"ABCDE12345"}"#)
    #expect(String(decoding: try decode(parts[1]), as: UTF8.self) == #"{"iss":"TEAM567890","iat":1700000000}"#)
  }

  @Test func `the public key verifies the signature`() throws {
    // Each signature is different, and so are the lengths of r and s.
    for issuedAt: Int64 in 0..<50 {
      let token = String(decoding: try key().sign(issuedAt: issuedAt), as: UTF8.self)
      let parts = token.split(separator: ".")
      let signature = [UInt8](try decode(parts[2]))
      #expect(signature.count == 64)
      #expect(verify(Array("\(parts[0]).\(parts[1])".utf8), signature))
      #expect(!verify(Array("\(parts[0]).\(parts[1])x".utf8), signature))
    }
  }

  /// 20 minutes after the start of a window.
  private static let now: UInt64 = (1_800_000_000 + 1200) * 1_000_000_000
  private static let minute: UInt64 = 60_000_000_000

  /// A token of a machine that was started `uptime` nanoseconds before ``now``.
  private func token(
    uptime: UInt64 = 1, clockOffBy seconds: Int64 = 0
  ) throws -> (token: ProviderToken, time: TestTime) {
    let time = TestTime(unix: Self.now, uptime: uptime)
    time.error = seconds * 1_000_000_000
    return (ProviderToken(key: try key(), log: .silent, unixTime: { time.unix }), time)
  }

  @Test func `one token is used until it is due and a refusal renews it once`() throws {
    let (token, time) = try token()
    #expect(token.authorization.isEmpty)
    #expect(token.age == nil)
    #expect(token.prepare(now: time.now))
    #expect(token.age == 1200)
    let first = token.authorization
    #expect(first.starts(with: "bearer ".utf8))
    #expect(token.prepare(now: time.pass(1)))
    #expect(token.authorization == first)
    #expect(token.renew(afterRefusalOf: 1, now: time.pass(1)))
    #expect(token.authorization != first)
    #expect(token.age == 0)
    #expect(token.generation == 2)
    #expect(token.renew(afterRefusalOf: 1, now: time.pass(1)), "the other pushes of the old token use the new one")
    #expect(token.generation == 2)
    #expect(!token.renew(afterRefusalOf: 2, now: time.pass(1)))
  }

  @Test func `the older token is used again when APNs reports too many`() throws {
    let (token, time) = try token()
    #expect(token.prepare(now: time.now))
    let first = token.authorization
    #expect(!token.fallBack(afterRefusalOf: 1), "there is no older token")
    #expect(token.renew(afterRefusalOf: 1, now: time.pass(1)))
    #expect(token.fallBack(afterRefusalOf: 2))
    #expect(token.authorization == first)
    #expect(token.fallBack(afterRefusalOf: 2), "the second refused push uses the older token too")
    #expect(token.authorization == first)
  }

  @Test func `machines change to the same token at the same moment, however long they have run`() throws {
    let machines = try (1...10).map { number in try token(uptime: number * 3_000 * Self.minute) }
    func tokens(after minutes: UInt64) -> Set<[UInt8]> {
      Set(
        machines.map { machine in
          _ = machine.token.prepare(now: machine.time.pass(minutes * Self.minute))
          return machine.token.authorization
        })
    }
    let first = tokens(after: 0)
    #expect(first.count == 1)
    #expect(tokens(after: 29) == first)
    let second = tokens(after: 1)
    #expect(second.count == 1 && second != first)
    #expect(tokens(after: 49) == second)
    #expect(tokens(after: 1) != second)
  }

  @Test func `a machine whose clock is off has its own token until the clock is set`() throws {
    let (right, time) = try token()
    let (slow, slowTime) = try token(clockOffBy: -1800)
    #expect(right.prepare(now: time.now) && slow.prepare(now: slowTime.now))
    #expect(slow.authorization != right.authorization)
    #expect(slow.renew(afterRefusalOf: 1, now: slowTime.pass(1)))
    #expect(slow.age == 0)
    slowTime.error = 0
    #expect(slow.prepare(now: slowTime.pass(1)))
    #expect(slow.authorization == right.authorization)
    #expect(slow.generation == 3)
  }

  private func verify(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
    let key = TestKey.publicPEM.withCString { text in
      let bio = BIO_new_mem_buf(text, -1)
      defer { BIO_free(bio) }
      return PEM_read_bio_PUBKEY(bio, nil, nil, nil)
    }
    defer { EVP_PKEY_free(key) }
    let pair = ECDSA_SIG_new()
    defer { ECDSA_SIG_free(pair) }
    ECDSA_SIG_set0(pair, BN_bin2bn(Array(signature[..<32]), 32, nil), BN_bin2bn(Array(signature[32...]), 32, nil))
    var der: UnsafeMutablePointer<UInt8>?
    let length = i2d_ECDSA_SIG(pair, &der)
    defer { CRYPTO_free(der, #file, #line) }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key)
    return EVP_DigestVerify(context, der, Int(length), message, message.count) == 1
  }
}

/// The clocks of a machine.
@EventLoop
private final class TestTime {
  /// CLOCK_MONOTONIC in nanoseconds.
  private(set) var now: UInt64
  private let bootTime: UInt64
  /// How far the clock is off, in nanoseconds.
  var error: Int64 = 0

  init(unix: UInt64, uptime: UInt64) {
    now = uptime
    bootTime = unix - uptime
  }

  /// What the clock shows, in unix nanoseconds.
  var unix: UInt64 { UInt64(Int64(bootTime + now) + error) }

  /// Returns the monotonic time after some nanoseconds.
  func pass(_ nanoseconds: UInt64) -> UInt64 {
    now += nanoseconds
    return now
  }
}
