#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/together.pl [--seconds N] COMMAND [ARGUMENT...]: runs a command. When it is interrupted (INT, TERM, HUP), the command
# ends together with all that it started, daemons included, within a second: they have 0.5 s after SIGTERM. --seconds: the
# command is a test; after N seconds, and when it has ended, what it started ends as well.
# Exits as the command did; 124: it took longer than N seconds.
#
# Scripts begin with: [ -n "${HONE_TOGETHER:-}" ] || exec tools/together.pl "$0" "$@"
use strict;
use warnings;
use POSIX qw(:sys_wait_h :signal_h);
use Time::HiRes qw(sleep time);

my $limit;
($limit) = (splice @ARGV, 0, 2)[1] if @ARGV > 2 && $ARGV[0] eq '--seconds';
@ARGV or die "usage: $0 [--seconds N] COMMAND [ARGUMENT...]\n";

# A process whose parent has ended becomes a child of this one (PR_SET_CHILD_SUBREAPER), so that daemons are found, too.
my %prctl = (x86_64 => 157, aarch64 => 167, riscv64 => 167, ppc64le => 171, s390x => 172);
my $prctl = $prctl{ (POSIX::uname())[4] };
syscall $prctl, 36, 1, 0, 0, 0 if defined $prctl;

sub descendants {
	my (%children, @found);
	for my $stat (glob '/proc/[0-9]*/stat') {
		open my $f, '<', $stat or next;
		my $line = <$f>;
		push @{ $children{$2} }, $1 if defined $line && $line =~ /^(\d+) \(.*\) \S (\d+) /s;
	}
	my @look = ($$);
	while (defined(my $pid = shift @look)) {
		push @found, @{ $children{$pid} // [] };
		push @look, @{ $children{$pid} // [] };
	}
	return @found;
}

sub end_all {
	my ($until, %asked) = (time + 0.5);
	while (my @left = descendants()) {
		my @new = grep { !$asked{$_}++ } @left;
		kill time < $until ? (TERM => @new) : (KILL => @left);
		1 while waitpid(-1, WNOHANG) > 0;
		last if time > $until + 5;	# it waits for a device that does not answer
		sleep 0.02;
	}
}

my $command = fork // die "fork: $!\n";
if ($command == 0) {
	$ENV{HONE_TOGETHER} = 1;
	setpgrp 0, 0 if defined $limit;	# what a test does to its process group ends the test alone
	exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\n";
	POSIX::_exit(127);
}
for my $signal (qw(INT TERM HUP)) {
	next if $signal eq 'HUP' && ($SIG{HUP} // '') eq 'IGNORE';	# as nohup does
	$SIG{$signal} = sub {
		$SIG{$_} = 'IGNORE' for qw(INT TERM HUP);
		end_all();
		$SIG{$signal} = 'DEFAULT';
		my $number = { INT => SIGINT, TERM => SIGTERM, HUP => SIGHUP }->{$signal};
		sigprocmask(SIG_UNBLOCK, POSIX::SigSet->new($number));	# Perl blocks it meanwhile
		kill $signal, $$;
	};
}
$SIG{ALRM} = sub { end_all(); exit 124 };
alarm $limit if defined $limit;
my $pid;
do { $pid = waitpid -1, 0 } until $pid == $command || ($pid < 0 && !$!{EINTR});
my $status = $?;
alarm 0;
end_all() if defined $limit;
exit($status & 127 ? 128 + ($status & 127) : $status >> 8);
