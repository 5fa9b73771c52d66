import Foundation
public import RepriseCore

/// Reprise's own workers: requests, downloads, uploads, system transfers, and files.
///
/// ```swift
/// let standard = StandardWorkers(
///     sandbox: Sandbox(["documents": .documentsDirectory]), transport: URLSessionTransport(),
///     guard: AddressGuard())
/// configuration.workers += standard.all
/// ```
///
/// Each may be run again after a kill at any instruction; its own page says why.
public struct StandardWorkers: Sendable {
    private let sandbox: Sandbox
    private let network: GuardedTransport?
    private let addresses: AddressGuard
    private let transfers: (any TransferService)?
    private let credentials: Credentials?
    private let clock: any Timekeeper

    /// Makes the workers.
    ///
    /// - Parameters:
    ///   - sandbox: the folders in which files may be accessed.
    ///   - transport: performs HTTP requests; nil: no workers for HTTP.
    ///   - addresses: the check of addresses.
    ///   - transfers: the system's transfers; nil: no worker for them.
    ///   - credentials: headers for the first server of each request, fresh for each attempt. A
    ///     system transfer may send them wherever it is redirected.
    ///   - clock: times the look-ups of a system transfer.
    public init(
        sandbox: Sandbox, transport: (any HTTPTransport)? = nil,
        guard addresses: AddressGuard = AddressGuard(),
        transfers: (any TransferService)? = nil, credentials: Credentials? = nil,
        clock: any Timekeeper = SystemTimekeeper()
    ) {
        self.sandbox = sandbox
        self.addresses = addresses
        self.transfers = transfers
        self.credentials = credentials
        self.clock = clock
        network = transport.map {
            GuardedTransport(transport: $0, addresses: addresses, credentials: credentials)
        }
    }

    /// All of them, to register.
    public var all: [any Worker] {
        var workers: [any Worker] = [
            CopyFileWorker(sandbox: sandbox), MoveFileWorker(sandbox: sandbox),
            DeleteFileWorker(sandbox: sandbox), HashFileWorker(sandbox: sandbox),
        ]
        if let network {
            workers +=
                [
                    HTTPRequestWorker(network: network),
                    DownloadWorker(network: network, sandbox: sandbox),
                    UploadWorker(network: network, sandbox: sandbox),
                ] as [any Worker]
        }
        if let transfers {
            workers.append(
                TransferWorker(
                    transfers: transfers, addresses: addresses, credentials: credentials,
                    sandbox: sandbox, clock: clock))
        }
        return workers
    }
}
