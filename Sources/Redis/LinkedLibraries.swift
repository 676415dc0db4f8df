import CHiredis

/// The version of the library that this module was built with; hiredis does not tell which one it is linked with.
public enum RedisLibraries {
  public static var hiredis: String { "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)" }
}
