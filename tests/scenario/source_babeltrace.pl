#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Lines of babeltrace2 in the words of source_dump: one parser of values, and then what the reader's contract says.
use strict;
use warnings;
no warnings 'portable';	# numbers of 64 bits

my $text;

sub fail { die "cannot read: $_[0] at: ", substr($text, pos($text) // 0, 60), "\n" }
# Each pattern is compiled once: compiled for each value, they took most of the time.
my %compiled;
sub accept_ { my $what = $compiled{ $_[0] } //= qr/\G\s*$_[0]/; return $text =~ /$what/gc }

# A value: { text | number, is_list }
sub value {
	return { text => $1 } if $text =~ /\G\s*("(?:[^"\\]|\\.)*")/gc;
	if (accept_('\[')) {
		until (accept_('\]')) {
			accept_('\[\d+\] =');
			value();
			accept_(',');
		}
		return { list => 1 };
	}
	if (accept_('\(')) {	# an enum: its first label, or its number where it has none
		my ($label, $number);
		until (defined $number) {
			if ($text =~ /\G\s*: container = (-?\w+)\s*\)/gc) { $number = $1; last }
			if ($text =~ /\G\s*("(?:[^"\\]|\\.)*")/gc) { $label //= $1 } else { accept_('<unknown>') or accept_('\|') or fail('enum') }
		}
		return { text => $label // $number };
	}
	if (accept_('\{')) {	# a variant
		return { text => 'none' } if accept_('\}');
		my $v = value();
		accept_('\}') or fail('variant');
		return $v;
	}
	if ($text =~ /\G\s*(0x[0-9A-Fa-f]+)/gc) { return { text => sprintf('%u', hex $1) } }
	if ($text =~ /\G\s*(-?[0-9a-z.+-]+)/gc) { return { text => $1 } }
	fail('value');
}

sub fields {
	my @list;
	accept_('\{') or fail('{');
	until (accept_('\}')) {
		$text =~ /\G\s*(\w+) = /gc or fail('name');
		push @list, [ $1, value() ];
		accept_(',');
	}
	return @list;
}

sub number { my $v = shift; return defined $v && $v->{text} =~ /^-?\d+$/ ? $v->{text} : 0 }

# Texts are cut at 255 bytes.
sub cut {
	my $t = shift;
	return $t unless length($t) > 257 && $t =~ /^"(.*)"$/s;
	my @bytes = $1 =~ /\\.|[^\\]/gs;
	return $t if @bytes <= 255;
	return '"' . join('', @bytes[0 .. 254]) . '"';
}

while ($text = <STDIN>) {
	chomp $text;
	pos($text) = 0;
	$text =~ /\G\[(\d+)\] (\S+):\((\d+)\) (\S+): /gc or fail('head');
	my ($time, $service, $pid, $event) = ($1, $2, $3, $4);
	my (%context, @payload);
	fields();	# the packet's
	accept_(',');
	%context = map { $_->[0] => $_->[1] } fields();
	accept_(',');
	@payload = fields();
	my ($link, $name, @shown) = (0);
	my $structure = $event =~ /^hone:(request_begin|request_end|fork|unit_begin|unit_end|join)$/;
	for my $i (0 .. $#payload) {
		my ($key, $v) = @{ $payload[$i] };
		my $next = $payload[$i + 1];
		if ($next && $key eq "_$next->[0]_length") {
			next unless $next->[1]{list};
			$key = substr $key, 1;
		}
		next if $v->{list};
		if ($structure && $key eq 'name') { ($name) = $v->{text} =~ /^"(.*)"$/; next }
		if ($structure && $key eq 'link_id') { $link = $v->{text}; next }
		push @shown, " $key=" . cut($v->{text}) if @shown < 32;
	}
	$event .= "($name)" if $structure;
	printf "%s %s/%s pid=%s tid=%s trace=%s unit=%s link=%s%s\n", $time, $service, $event, $pid, number($context{vtid}),
	    number($context{_app_hone_trace_id}), number($context{_app_hone_unit_id}), $link, join '', @shown;
}
