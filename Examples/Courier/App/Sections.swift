import CourierCore
import RepriseUI
import SwiftUI

/// Before a courier is signed in.
struct SignInSection: View {
    let courier: Courier
    @State private var name = "ada"
    @State private var fault = ""

    var body: some View {
        Section("Sign in") {
            TextField("Name", text: $name)
            Button("Sign in") {
                Task {
                    // The office gives the token; the account is kept over launches.
                    do { try await courier.signIn(name) } catch {
                        fault = error.localizedDescription
                    }
                }
            }
            if !fault.isEmpty { Text(fault).foregroundStyle(.red) }
        }
    }
}

/// A courier's day: permission, rest, sign-out.
struct DaySection: View {
    let courier: Courier
    let client: RepriseClient
    @State private var status = ""

    var body: some View {
        Section("Your day") {
            Button("Allow notifications") {
                attempt { try await courier.askPermission() ? "Allowed" : "Not allowed" }
            }
            Button("Quiet from 22:00 to 7:00") {
                attempt {
                    let zone = TimeZone.current.identifier
                    try await client.notices.setQuietHours(
                        QuietHours(from: "22:00", to: "07:00", zone: zone))
                    return "Quiet at night"
                }
            }
            Button("Sign out", role: .destructive) {
                attempt {
                    try await courier.signOut()
                    return ""
                }
            }
            if !status.isEmpty { Text(status) }
        }
    }

    private func attempt(_ work: @escaping @MainActor () async throws -> String) {
        Task {
            do { status = try await work() } catch { status = error.localizedDescription }
        }
    }
}
