// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Part of Darwin.swift: types that would be ambiguous beside Glibc's are compiled into the module
// that uses them. Nothing here does anything.
import Foundation

// https://github.com/apple-oss-distributions/xnu/blob/main/libsyscall/wrappers/spawn/spawn.h
// (2026-11-26): pointers there, structures in Glibc.
typealias posix_spawn_file_actions_t = UnsafeMutableRawPointer
typealias posix_spawnattr_t = UnsafeMutableRawPointer
typealias SpawnActions = UnsafeMutablePointer<posix_spawn_file_actions_t?>
typealias SpawnAttributes = UnsafeMutablePointer<posix_spawnattr_t?>
@discardableResult
func posix_spawn_file_actions_init(_ actions: SpawnActions!) -> Int32 { fatalError() }
@discardableResult
func posix_spawn_file_actions_destroy(_ actions: SpawnActions!) -> Int32 { fatalError() }
@discardableResult
func posix_spawn_file_actions_adddup2(
    _ actions: SpawnActions!, _ file: Int32, _ new: Int32
) -> Int32 { fatalError() }
@discardableResult
func posix_spawn_file_actions_addopen(
    _ actions: SpawnActions!, _ file: Int32, _ path: UnsafePointer<CChar>!, _ flags: Int32,
    _ mode: mode_t
) -> Int32 { fatalError() }
@discardableResult
func posix_spawnattr_init(_ attributes: SpawnAttributes!) -> Int32 { fatalError() }
@discardableResult
func posix_spawnattr_destroy(_ attributes: SpawnAttributes!) -> Int32 { fatalError() }
@discardableResult
func posix_spawnattr_setsigmask(
    _ attributes: SpawnAttributes!, _ mask: UnsafePointer<sigset_t>!
) -> Int32 { fatalError() }
@discardableResult
func posix_spawnattr_setsigdefault(
    _ attributes: SpawnAttributes!, _ signals: UnsafePointer<sigset_t>!
) -> Int32 { fatalError() }
@discardableResult
func posix_spawnattr_setpgroup(_ attributes: SpawnAttributes!, _ group: pid_t) -> Int32 {
    fatalError()
}
@discardableResult
func posix_spawnattr_setflags(_ attributes: SpawnAttributes!, _ flags: Int16) -> Int32 {
    fatalError()
}
func posix_spawn(
    _ id: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ actions: UnsafePointer<posix_spawn_file_actions_t?>!,
    _ attributes: UnsafePointer<posix_spawnattr_t?>!,
    _ words: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
) -> Int32 { fatalError() }

// https://github.com/apple-oss-distributions/xnu/blob/main/bsd/sys/spawn.h (2026-11-26)
var POSIX_SPAWN_CLOEXEC_DEFAULT: Int32 { fatalError() }
