import CourierCore
import RepriseUI
import SwiftUI

/// An order: what is said about it, and what the courier does with it.
struct OrderView: View {
    let delivery: Delivery
    let chat: ChannelModel<OrderNote>
    let courier: Courier
    let client: RepriseClient
    @State private var proof: ChainID?
    @State private var fault = ""

    var body: some View {
        List {
            Section(delivery.order.street) {
                ForEach(delivery.answers, id: \.self) { Text("You answered: \($0)") }
                Button("Delivered") { attempt { try await courier.delivered(delivery.order) } }
                Button("Send the proof") {
                    attempt { proof = try await courier.prove(delivery.order) }
                }
                if let proof { ProofRow(chain: client.model(for: proof)) }
                Button(delivery.state == .active ? "Pause the reminder" : "Remind me again") {
                    attempt {
                        try courier.orders.set(
                            delivery.state == .active ? .paused : .active, delivery.id)
                    }
                }
                Button("Mute this chat") {
                    attempt {
                        try await client.notices.mute(channel: ChannelName(chat.channel.name))
                    }
                }
                if !fault.isEmpty { Text(fault).foregroundStyle(.red) }
            }
            ChatSection(chat: chat)
        }
        .navigationTitle("Order \(delivery.id), \(delivery.order.customer)")
        .repriseVisible(chat)
    }

    private func attempt(_ work: @escaping @MainActor () async throws -> Void) {
        Task {
            do {
                try await work()
                fault = ""
            } catch { fault = error.localizedDescription }
        }
    }
}

private struct ProofRow: View {
    let chain: ChainModel

    var body: some View {
        if let progress = chain.progress {
            Text("Proof: \(progress.done) of \(progress.total), \(progress.state.rawValue)")
        }
        ProgressView(value: chain.fraction)
    }
}
