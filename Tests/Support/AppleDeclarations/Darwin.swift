// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Apple's C library has otherwise than Glibc, as far as the core uses it; nothing here does
// anything. Names and types were compared with public copies of Apple's headers on the day beside
// their page.
public import Glibc

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/stat.h (2026-11-26)
extension stat {
    public var st_mtimespec: timespec { fatalError() }
    public var st_birthtimespec: timespec { fatalError() }
}

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/fcntl.h (2026-11-26)
public var F_FULLFSYNC: Int32 { fatalError() }

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/socket.h (2026-11-26)
public var SOCK_STREAM: Int32 { fatalError() }

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/sysctl.h (2026-11-26)
public func sysctlbyname(
    _ name: UnsafePointer<CChar>!, _ old: UnsafeMutableRawPointer!,
    _ oldSize: UnsafeMutablePointer<Int>!, _ new: UnsafeMutableRawPointer!, _ newSize: Int
) -> Int32 { fatalError() }

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/unistd.h (2026-11-26)
@_disfavoredOverload public func read(
    _ file: Int32, _ bytes: UnsafeMutableRawPointer!, _ count: Int
) -> Int {
    fatalError()
}
@_disfavoredOverload public func write(_ file: Int32, _ bytes: UnsafeRawPointer!, _ count: Int)
    -> Int
{
    fatalError()
}

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/socket.h (2026-11-26)
public var SO_NOSIGPIPE: Int32 { fatalError() }
