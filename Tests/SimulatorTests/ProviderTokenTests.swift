import Foundation
import TestSupport
import Testing

@testable import Simulator

struct ProviderTokenTests {
  private static let now: Int64 = 1_800_000_000
  private let directory: TemporaryDirectory
  private let signer: ProviderTokenSigner
  private let verifier: ProviderTokenVerifier

  init() throws {
    directory = try TemporaryDirectory()
    let workspace = try Workspace(directory: directory.path)
    let key = try workspace.makeProviderKey()
    signer = try ProviderTokenSigner(path: workspace.keyPath)
    verifier = ProviderTokenVerifier(keyID: Workspace.keyID, teamID: Workspace.teamID, key: key)
  }

  private func check(_ authorization: String?, now: Int64 = ProviderTokenTests.now) -> ProviderTokenCheck {
    var verifier = verifier
    return verifier.verify(authorization.map { Array($0.utf8)[...] }, now: now).check
  }

  @Test func `a token of the right key is valid for an hour`() {
    let token = signer.authorization(issuedAt: Self.now)
    #expect(check(token) == .valid)
    #expect(check(token, now: Self.now + 3600) == .valid)
    #expect(check(token, now: Self.now + 3601) == .expired)
    #expect(check(token, now: Self.now - 301) == .invalid)
  }

  @Test func `a known token is not verified again, but its age is checked`() {
    var verifier = verifier
    let token = Array(signer.authorization(issuedAt: Self.now).utf8)[...]
    #expect(verifier.verify(token, now: Self.now).check == .valid)
    #expect(verifier.verify(token, now: Self.now + 1).check == .valid)
    #expect(verifier.verify(token, now: Self.now + 4000).check == .expired)
    #expect(verifier.verifications == 1)
  }

  @Test(arguments: [nil, "", "bearer", "bearer ", "basic abc"])
  func `without a bearer there is no token`(authorization: String?) {
    #expect(check(authorization) == .missing)
  }

  @Test(arguments: ["x", "a.b", "..", "a.b.c.d", "!.!.!", "eyJhbGciOiJub25lIn0.e30."])
  func `garbage is invalid`(token: String) {
    #expect(check("bearer " + token) == .invalid)
  }

  @Test func `another key id, team, algorithm or signature is invalid`() throws {
    #expect(check(signer.authorization(header: #"{"alg":"ES256","kid":"OTHER"}"#, issuedAt: Self.now)) == .invalid)
    #expect(
      check(signer.authorization(header: #"{"alg":"none","kid":"SIMULATOR1"}"#, issuedAt: Self.now)) == .invalid)
    #expect(check(signer.authorization(team: "OTHER", issuedAt: Self.now)) == .invalid)
    #expect(check(signer.authorization(issuedAt: -5)) == .invalid)
    let token = signer.authorization(issuedAt: Self.now)
    let end = token.index(token.endIndex, offsetBy: -20)
    #expect(check(token.replacingCharacters(in: end...end, with: token[end] == "A" ? "B" : "A")) == .invalid)
  }

  @Test func `a key may have to keep one token for some time, on all connections`() {
    var (connection, verifier) = (ConnectionProvider(), verifier)
    func check(issuedAt: Int64, at now: Int64) -> ProviderTokenCheck {
      connection.check(
        Array(signer.authorization(issuedAt: issuedAt).utf8)[...], with: &verifier, updateSeconds: 1200, now: now)
    }
    let first = Array(signer.authorization(issuedAt: Self.now).utf8)[...]
    #expect(!connection.isKnown)
    #expect(connection.check(first, with: &verifier, updateSeconds: 1200, now: Self.now) == .valid)
    #expect(connection.isKnown)
    #expect(check(issuedAt: Self.now + 1, at: Self.now + 1199) == .updatedTooOften)
    #expect(connection.check(first, with: &verifier, updateSeconds: 1200, now: Self.now + 1199) == .valid)
    var other = ConnectionProvider()
    let second = Array(signer.authorization(issuedAt: Self.now + 1).utf8)[...]
    #expect(other.check(second, with: &verifier, updateSeconds: 1200, now: Self.now + 1199) == .updatedTooOften)
    #expect(other.check(first, with: &verifier, updateSeconds: 1200, now: Self.now + 1199) == .valid)
    #expect(verifier.tokens == 1)
    #expect(check(issuedAt: Self.now + 2, at: Self.now + 1200) == .valid)
  }
}
