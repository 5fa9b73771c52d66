import RepriseCore

/// The phone's transfers, for one app.
struct PhoneTransfers: TransferService {
    let link: PhoneLink

    func start(_ request: TransferRequest) async throws {
        _ = try await link.ask(.startTransfer(request))
    }

    func transfers() async throws -> [Transfer] {
        guard case .transfers(let transfers) = try await link.ask(.transfers) else {
            throw PhoneApp.nonsense
        }
        return transfers
    }

    func cancel(_ id: String) async throws { _ = try await link.ask(.cancelTransfer(id)) }

    func forget(_ id: String) async throws { _ = try await link.ask(.forgetTransfer(id)) }

    var changes: AsyncStream<Transfer> { link.transfers.open() }
}
