import COpenSSL

/// ECDSA with P-256 and SHA-256, with the nonces of RFC 6979: the same key and message give the same signature in every process.
///
/// OpenSSL before 3.2 signs with random nonces only, so the signature is computed here from its groups and big numbers. The key
/// and the nonce are multiplied with a random number before they are divided, so that the time of a division does not depend
/// on them.
struct DeterministicSignature {
  /// The size of r and of s.
  static let scalarBytes = 32

  private let group: OpaquePointer
  private let order: OpaquePointer
  private let context: OpaquePointer
  /// The private key; erased by ``free()``.
  private let scalar: OpaquePointer

  /// Returns r and s of 32 bytes each; nil if OpenSSL is out of memory or the key is not of P-256.
  static func sign(digest: [UInt8], key: OpaquePointer) -> [UInt8]? {
    guard digest.count == scalarBytes, let signature = DeterministicSignature(key: key) else { return nil }
    defer {
      signature.free()
      ERR_clear_error()
    }
    return signature.sign(digest)
  }

  private init?(key: OpaquePointer) {
    var scalar: OpaquePointer?
    guard EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &scalar) == 1, let scalar else { return nil }
    BN_set_flags(scalar, BN_FLG_CONSTTIME)
    guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
      BN_clear_free(scalar)
      return nil
    }
    guard let order = EC_GROUP_get0_order(group), let context = BN_CTX_secure_new() else {
      EC_GROUP_free(group)
      BN_clear_free(scalar)
      return nil
    }
    (self.group, self.order, self.context, self.scalar) = (group, order, context, scalar)
  }

  private func free() {
    BN_CTX_free(context)
    EC_GROUP_free(group)
    BN_clear_free(scalar)
  }

  private func sign(_ digest: [UInt8]) -> [UInt8]? {
    let numbers = Numbers()
    defer { numbers.free() }
    guard let message = numbers.number(digest), BN_nnmod(message, message, order, context) == 1,
      var secret = bytes(of: scalar), let reduced = bytes(of: message)
    else { return nil }
    var nonces = NonceSequence(scalar: secret, digest: reduced)
    defer {
      nonces.erase()
      NonceSequence.erase(&secret)
    }
    // More than one turn is as unlikely as finding the key by chance.
    for _ in 0..<8 {
      var candidate = nonces.next()
      defer { NonceSequence.erase(&candidate) }
      guard let nonce = numbers.number(candidate) else { return nil }
      guard BN_is_zero(nonce) == 0, BN_cmp(nonce, order) < 0 else { continue }
      guard let r = point(nonce, numbers), let s = answer(nonce, r, message, numbers) else { return nil }
      if BN_is_zero(r) == 1 || BN_is_zero(s) == 1 { continue }
      guard let left = bytes(of: r), let right = bytes(of: s) else { return nil }
      return left + right
    }
    return nil
  }

  /// Returns the x coordinate of `nonce` times the generator, modulo the order.
  private func point(_ nonce: OpaquePointer, _ numbers: Numbers) -> OpaquePointer? {
    guard let x = numbers.number(), let point = EC_POINT_new(group) else { return nil }
    defer { EC_POINT_clear_free(point) }
    guard EC_POINT_mul(group, point, nonce, nil, nil, context) == 1,
      EC_POINT_get_affine_coordinates(group, point, x, nil, context) == 1,
      BN_nnmod(x, x, order, context) == 1
    else { return nil }
    return x
  }

  /// Returns (message + r × scalar) / nonce, modulo the order.
  private func answer(
    _ nonce: OpaquePointer, _ r: OpaquePointer, _ message: OpaquePointer, _ numbers: Numbers
  ) -> OpaquePointer? {
    guard let blind = numbers.number(), let divisor = numbers.number(), let sum = numbers.number(),
      let product = numbers.number(), let inverse = numbers.number()
    else { return nil }
    repeat {
      guard BN_priv_rand_range(blind, order) == 1 else { return nil }
    } while BN_is_zero(blind) == 1
    guard BN_mod_mul(divisor, nonce, blind, order, context) == 1,
      BN_mod_mul(product, scalar, blind, order, context) == 1,
      BN_mod_mul(product, product, r, order, context) == 1,
      BN_mod_mul(sum, message, blind, order, context) == 1,
      BN_mod_add(sum, sum, product, order, context) == 1,
      BN_mod_inverse(inverse, divisor, order, context) != nil,
      BN_mod_mul(sum, sum, inverse, order, context) == 1
    else { return nil }
    return sum
  }

  private func bytes(of number: OpaquePointer) -> [UInt8]? {
    let size = DeterministicSignature.scalarBytes
    var bytes = [UInt8](repeating: 0, count: size)
    return BN_bn2binpad(number, &bytes, Int32(size)) == Int32(size) ? bytes : nil
  }
}

/// Big numbers of one signature, which are erased together.
private final class Numbers {
  private var all: [OpaquePointer] = []

  /// Returns zero, or the number with these bytes. Nil without memory.
  func number(_ bytes: [UInt8]? = nil) -> OpaquePointer? {
    guard let number = BN_secure_new() else { return nil }
    all.append(number)
    BN_set_flags(number, BN_FLG_CONSTTIME)
    guard let bytes else { return number }
    return BN_bin2bn(bytes, Int32(bytes.count), number)
  }

  func free() {
    for number in all { BN_clear_free(number) }
    all = []
  }
}
