// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's Network, as far as RepriseApple uses them; nothing here does anything.
// Each type names its page below https://developer.apple.com/documentation/network.
public import Dispatch

// /nwinterface (2026-11-24)
public struct NWInterface: Hashable, Sendable { public var name: String { fatalError() } }

// /nwpath (2026-11-24)
public struct NWPath: Equatable, Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public var status: Status { fatalError() }
    public var availableInterfaces: [NWInterface] { fatalError() }
    public var isExpensive: Bool { fatalError() }
    public var isConstrained: Bool { fatalError() }
}

// /nwpathmonitor (2026-11-24)
public final class NWPathMonitor: @unchecked Sendable {
    public init() {}
    public var currentPath: NWPath { fatalError() }
    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
