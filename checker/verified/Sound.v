(* What the program accepts holds in the specification: [check_sound], at the end. *)
From Coq Require Import ZArith QArith Qminmax Qround Qpower List Lia Lqa PeanoNat Bool.
From Byheart Require Import Spec Dyadic Evaluate.
Import ListNotations.
Open Scope Q_scope.

(* ---------- Sums ---------- *)
Lemma sum_ext : forall n f g, (forall i, (i < n)%nat -> f i == g i) -> sum n f == sum n g.
Proof. induction n; intros; cbn [sum]. reflexivity. rewrite (IHn f g), H by auto. reflexivity. Qed.
Lemma sum_plus : forall n f g, sum n (fun i => f i + g i) == sum n f + sum n g.
Proof. induction n; intros; cbn [sum]. reflexivity. rewrite IHn. ring. Qed.
Lemma sum_scale : forall n f k, sum n (fun i => f i * k) == sum n f * k.
Proof. induction n; intros; cbn [sum]. ring. rewrite IHn. ring. Qed.
Lemma sum_zero : forall n f, (forall i, (i < n)%nat -> f i == 0) -> sum n f == 0.
Proof. induction n; intros; cbn [sum]. reflexivity. rewrite IHn, H by auto. ring. Qed.
Lemma sum_delta : forall n j w h, (j < n)%nat -> sum n (fun i => (if Nat.eqb j i then w else 0) * h i) == w * h j.
Proof.
  induction n; intros; [lia|]. cbn [sum]. destruct (Nat.eq_dec j n) as [->|N].
  - rewrite Nat.eqb_refl, sum_zero. ring.
    intros. replace (Nat.eqb n i) with false by (symmetry; apply Nat.eqb_neq; lia). ring.
  - rewrite IHn by lia. replace (Nat.eqb j n) with false by (symmetry; apply Nat.eqb_neq; lia). ring.
Qed.
Lemma sum_shift : forall n f, sum (S n) f == f 0%nat + sum n (fun i => f (S i)).
Proof. induction n; intros. cbn [sum]. ring. cbn [sum] in *. rewrite IHn. ring. Qed.
Lemma sum_over_ext : forall A (l : list A) f g, (forall x, In x l -> f x == g x) -> sum_over l f == sum_over l g.
Proof. induction l; intros; cbn. reflexivity. rewrite H by (left; reflexivity). unfold sum_over in IHl. rewrite (IHl f g). reflexivity. intros. apply H. right. assumption. Qed.
Lemma apply_ext : forall D W h k i, (forall j, (j < D)%nat -> h j == k j) -> apply D W h i == apply D W k i.
Proof. intros. unfold apply. apply sum_ext. intros. rewrite H by assumption. reflexivity. Qed.
Lemma apply_scale : forall D W h k i, apply D W (fun j => h j * k) i == apply D W h i * k.
Proof. intros. unfold apply. rewrite <- sum_scale. apply sum_ext. intros. ring. Qed.

(* ---------- Columns stand for functions ---------- *)
Definition rep (D : nat) (xs : list dyadic) (h : vector) : Prop :=
  length xs = D /\ forall i, (i < D)%nat -> value (nth i xs zero) == h i.
Definition repm (D N : nat) (cols : list (list dyadic)) (H : nat -> vector) : Prop :=
  length cols = N /\ forall c, (c < N)%nat -> rep D (nth c cols []) (H c).

Lemma rep_ext : forall D xs h k, rep D xs h -> (forall i, (i < D)%nat -> h i == k i) -> rep D xs k.
Proof. intros D xs h k [L R] E. split; auto. intros. rewrite R, E by assumption. reflexivity. Qed.
Lemma nth_map : forall A B (f : A -> B) l i d e, (i < length l)%nat -> nth i (map f l) e = f (nth i l d).
Proof. intros. rewrite nth_indep with (d' := f d) by (rewrite map_length; assumption). apply map_nth. Qed.
Lemma zip_length : forall f a b, length a = length b -> length (zip f a b) = length a.
Proof. intros. unfold zip. rewrite map_length, combine_length. lia. Qed.
Lemma zip_nth : forall f a b i, length a = length b -> (i < length a)%nat ->
  nth i (zip f a b) zero = f (nth i a zero) (nth i b zero).
Proof.
  intros. unfold zip. rewrite nth_map with (d := (zero, zero)) by (rewrite combine_length; lia).
  rewrite combine_nth by assumption. reflexivity.
Qed.
Lemma mapM_ok : forall A B (f : A -> option B) l r, mapM f l = Some r ->
  length r = length l /\ forall i d e, (i < length l)%nat -> f (nth i l d) = Some (nth i r e).
Proof.
  induction l as [|x l IH]; intros r H; cbn in H.
  - injection H as <-. split; [reflexivity|]. cbn. intros. lia.
  - destruct (f x) eqn:F; [|discriminate]. destruct (mapM f l) eqn:M; [|discriminate]. injection H as <-.
    destruct (IH _ eq_refl) as [L R]. cbn. split; [lia|]. intros [|i] d e Hi; cbn; auto. apply R. lia.
Qed.

Lemma dot_ok : forall D xs h r a, narrow D r = true -> rep D xs h ->
  value (dot r xs a) == value a + sum D (fun j => entry r j * h j).
Proof.
  intros D xs h r. induction r as [|[j w] r IH]; intros a N R.
  - cbn [dot]. rewrite sum_zero. ring. intros. unfold entry. cbn. ring.
  - cbn in N. apply andb_prop in N. destruct N as [Nj N]. apply Nat.ltb_lt in Nj.
    cbn [dot]. rewrite IH by assumption. rewrite dadd_ok, dmul_ok. destruct R as [L R]. rewrite R by assumption.
    rewrite (sum_ext D (fun j0 => entry ((j, w) :: r) j0 * h j0)
               (fun j0 => (if Nat.eqb j j0 then value w else 0) * h j0 + entry r j0 * h j0)).
    + rewrite sum_plus, sum_delta by assumption. ring.
    + intros. unfold entry at 1. cbn [sum_over fold_right fst snd]. change (fold_right _ 0 r) with (entry r i). ring.
Qed.
Lemma affine_ok : forall D W xs h, forallb (narrow' D) W = true -> rep D xs h ->
  rep (length W) (affine W xs) (fun i => apply D (weight W) h i + bias W i).
Proof.
  intros D W xs h N R. split. { unfold affine. apply map_length. }
  intros i Hi. unfold affine. rewrite nth_map with (d := ((zero, []) : dyadic * row)) by assumption.
  rewrite norm_ok, (dot_ok D xs h) by (try assumption; rewrite forallb_forall in N; apply (N (nth i W (zero, []))), nth_In; assumption).
  unfold apply, weight, bias. ring.
Qed.
Lemma times_ok : forall D M xs h, forallb (narrow D) M = true -> rep D xs h ->
  rep (length M) (times M xs) (apply D (matrix M) h).
Proof.
  intros D M xs h N R. split. { unfold times. apply map_length. }
  intros i Hi. unfold times. rewrite nth_map with (d := ([] : row)) by assumption.
  rewrite norm_ok, (dot_ok D xs h) by (try assumption; rewrite forallb_forall in N; apply N, nth_In; assumption).
  unfold apply, matrix. change (value zero) with 0. ring.
Qed.
Lemma relu_ok : forall D xs h, rep D xs h -> rep D (map drelu xs) (fun i => relu (h i)).
Proof.
  intros D xs h [L R]. split. { rewrite map_length. assumption. }
  intros. rewrite nth_map with (d := zero) by lia. rewrite drelu_ok. unfold relu. rewrite R by assumption. reflexivity.
Qed.
Lemma vadd_ok : forall D a b f g, rep D a f -> rep D b g -> rep D (vadd a b) (fun i => f i + g i).
Proof.
  intros D a b f g [La Ra] [Lb Rb]. unfold vadd. split. { rewrite zip_length; lia. }
  intros. rewrite zip_nth by lia. rewrite norm_ok, dadd_ok, Ra, Rb by assumption. reflexivity.
Qed.
Lemma lane_ok : forall K z zz x p, narrow' K p = true -> rep K z zz ->
  value (lane z x p) == value x + value (fst p) + sum K (fun j => entry (snd p) j * zz j).
Proof.
  intros K z zz x [b r] N R. unfold lane. cbn [fst snd]. destruct r as [|e r].
  - rewrite dadd_ok, sum_zero. ring. intros. unfold entry. cbn. ring.
  - rewrite norm_ok, (dot_ok K z zz), dadd_ok by assumption. reflexivity.
Qed.
Lemma residual_ok : forall D K W z h zz hh, length W = D -> forallb (narrow' K) W = true -> rep K z zz -> rep D h hh ->
  rep D (residual W z h) (fun i => hh i + apply K (weight W) zz i + bias W i).
Proof.
  intros D K W z h zz hh LW N Rz [Lh Rh]. unfold residual. split. { rewrite map_length, combine_length. lia. }
  intros i Hi. rewrite nth_map with (d := ((zero, (zero, [])) : dyadic * (dyadic * row))) by (rewrite combine_length; lia).
  rewrite combine_nth by (transitivity D; [assumption | symmetry; assumption]). cbn [fst snd].
  rewrite (lane_ok K z zz) by (try assumption; rewrite forallb_forall in N; apply (N (nth i W (zero, []))), nth_In; lia).
  rewrite Rh by assumption. unfold apply, weight, bias.
  rewrite <- !Qplus_assoc. apply Qplus_comp; [reflexivity | apply Qplus_comm].
Qed.
Lemma zeros_ok : forall D, rep D (repeat zero D) (fun _ => 0).
Proof. intro D. split. { apply repeat_length. } intros. rewrite nth_repeat. reflexivity. Qed.
Lemma total_ok : forall D N cols H sources, repm D N cols H -> (forall c, In c sources -> (c < N)%nat) ->
  rep D (total D cols sources) (fun j => sum_over sources (fun c => H c j)).
Proof.
  intros D N cols H sources R. induction sources as [|c s IH]; intro B; cbn [total fold_right sum_over].
  - apply zeros_ok.
  - apply (vadd_ok D _ _ (H c)). { apply R, B. left. reflexivity. } apply IH. intros. apply B. right. assumption.
Qed.
Lemma mix_ok : forall D N WV WO cols H sources a, fits D WV WO = true -> repm D N cols H ->
  (forall c, In c sources -> (c < N)%nat) -> mix D WV WO cols sources = Some a -> rep D a (attend D WV WO sources H).
Proof.
  intros D N WV WO cols H sources a F R B M. unfold fits in F.
  apply andb_prop in F. destruct F as [F F3]. apply andb_prop in F. destruct F as [F1 F2]. apply Nat.eqb_eq in F3.
  pose proof (times_ok _ _ _ _ F2 (times_ok _ _ _ _ F1 (total_ok _ _ _ _ _ R B))) as [L T].
  apply mapM_ok in M. destruct M as [LM M]. rewrite F3 in *. split; [lia|].
  intros i Hi. specialize (M i zero zero). rewrite L in M. specialize (M Hi).
  apply ddiv_ok in M. destruct M as [M _]. rewrite M, T by assumption. unfold Qdiv.
  rewrite <- apply_scale. unfold attend. apply apply_ext. intros. rewrite <- apply_scale. apply apply_ext.
  intros. unfold mean, Qdiv. reflexivity.
Qed.

(* ---------- Layers ---------- *)
Lemma repm_map : forall D E N cols H f g, (forall h hh, rep D h hh -> rep E (f h) (g hh)) -> repm D N cols H ->
  repm E N (map f cols) (fun c => g (H c)).
Proof.
  intros D E N cols H f g F [L R]. split. { rewrite map_length. assumption. }
  intros. rewrite nth_map with (d := []) by lia. apply F, R. assumption.
Qed.
Lemma repm_mapM : forall D E N cols H f g, (forall h hh r, rep D h hh -> f h = Some r -> rep E r (g hh)) ->
  repm D N cols H -> forall out, mapM f cols = Some out -> repm E N out (fun c => g (H c)).
Proof.
  intros D E N cols H f g F [L R] out M. apply mapM_ok in M. destruct M as [LM M]. split; [lia|].
  intros c Hc. apply (F (nth c cols []) (H c)). { apply R. assumption. } apply M. lia.
Qed.
Lemma index_ok : forall x k, deqb x (whole k) = true -> value x == inject_Z (Z.of_nat k).
Proof. intros x k E. apply deqb_ok in E. rewrite E. unfold value, whole. cbn [mantissa exponent]. change (2 ^ 0) with 1. ring. Qed.

Lemma embed_ok : forall D R T p h hh r,
  (match p with None => D = 1%nat | Some q => D = 2%nat /\ length q = R end) ->
  (forall t, In t T -> length t = R) -> rep D h hh -> embed T p h = Some r ->
  rep R r (fun i => value (nth i (nth (Z.to_nat (Qfloor (hh 0%nat))) T []) zero)
                    + match p with None => 0 | Some p => hh 1%nat * value (nth i p zero) end)
  /\ exists x, (x < length T)%nat /\ hh 0%nat == inject_Z (Z.of_nat x).
Proof.
  intros D R T p h hh r P LT [L Rh] E. unfold embed in E.
  destruct (_ && _)%bool in E; [|discriminate].
  set (k := Z.to_nat (Z.shiftl (mantissa (nth 0 h zero)) (exponent (nth 0 h zero)))) in E.
  destruct (deqb _ _) eqn:Q; [|discriminate]. apply index_ok in Q.
  destruct (nth_error T k) as [t|] eqn:NT; [|discriminate].
  assert (K : (k < length T)%nat) by (apply nth_error_Some; rewrite NT; discriminate).
  assert (D0 : (0 < D)%nat) by (destruct p; lia).
  rewrite (Rh 0%nat D0) in Q.
  assert (X : Z.to_nat (Qfloor (hh 0%nat)) = k) by (rewrite (Qfloor_comp _ _ Q), Qfloor_Z; apply Nat2Z.id).
  assert (Tk : nth k T [] = t) by (apply nth_error_nth; assumption).
  assert (Lt : length t = R) by (apply LT, nth_error_In with (n := k); assumption).
  split; [|exists k; split; assumption].
  rewrite X, Tk. injection E as <-. destruct p as [q|].
  - destruct P as [D2 Lq]. apply vadd_ok. { split; [assumption|]. intros; reflexivity. }
    split. { rewrite map_length. assumption. }
    intros. rewrite nth_map with (d := zero) by lia. rewrite dmul_ok, (Rh 1%nat) by lia. reflexivity.
  - split; [assumption|]. intros. ring.
Qed.

Lemma dsum_ok : forall l, value (fold_right dadd zero l) == sum (length l) (fun i => value (nth i l zero)).
Proof.
  induction l as [|x l IH]. { reflexivity. }
  cbn [fold_right length]. rewrite dadd_ok, IH, sum_shift. cbn [nth]. reflexivity.
Qed.
Lemma scores_ok : forall D N a h hh cols H, forallb (narrow D) (W_Q a) = true -> forallb (narrow D) (W_K a) = true ->
  length (W_Q a) = length (W_K a) -> rep D h hh -> repm D N cols H ->
  forall l, (l < N)%nat -> value (nth l (scores D a h cols) zero) == score D a hh (H l).
Proof.
  intros D N a h hh cols H NQ NK LQ Rh [L R] l Hl. unfold scores.
  rewrite nth_map with (d := []) by lia.
  destruct (times_ok _ _ _ _ NQ Rh) as [L1 R1]. destruct (times_ok _ _ _ _ NK (R l Hl)) as [L2 R2].
  rewrite dsum_ok, zip_length by lia. unfold score. rewrite L2, LQ. apply sum_ext. intros.
  rewrite zip_nth by lia. rewrite dmul_ok, R1, R2 by lia. reflexivity.
Qed.
Lemma largest_ok : forall N s f, (forall l, (l < N)%nat -> value (nth l s zero) == f l) -> largest N s = with_largest N f.
Proof.
  intros N s f E. unfold largest, with_largest. apply filter_ext_in. intros l Hl. apply in_seq in Hl.
  apply eq_true_iff_eq. rewrite !forallb_forall. split; intros A m Hm; specialize (A m Hm); apply in_seq in Hm.
  - rewrite dleb_ok in A. rewrite (E m), (E l) in A by lia. assumption.
  - rewrite dleb_ok. rewrite (E m), (E l) by lia. assumption.
Qed.
Lemma seq_below : forall N c, In c (seq 0 N) -> (c < N)%nat.
Proof. intros N c I. apply in_seq in I. lia. Qed.
Lemma adds_ok : forall D (hs : list head) (f : head -> option (list dyadic)) (g : head -> vector) out,
  (forall a r, In a hs -> f a = Some r -> rep D r (g a)) -> mapM f hs = Some out ->
  rep D (fold_right vadd (repeat zero D) out) (fun i => sum_over hs (fun a => g a i)).
Proof.
  induction hs as [|a hs IH]; intros f g out F M; cbn in M.
  - injection M as <-. apply zeros_ok.
  - destruct (f a) as [r|] eqn:Fa; [|discriminate]. destruct (mapM f hs) as [s|] eqn:Ms; [|discriminate]. injection M as <-.
    cbn [fold_right]. apply (vadd_ok D r _ (g a)). { apply F; [left; reflexivity | assumption]. }
    apply (IH f g s); [|assumption]. intros. apply F; [right|]; assumption.
Qed.

Ltac bools := repeat match goal with
  | H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H
  | H : (_ =? _)%nat = true |- _ => apply Nat.eqb_eq in H
  | H : (_ <=? _)%nat = true |- _ => apply Nat.leb_le in H
  end.
Lemma sum_sum_over : forall n s f, sum n (fun i => f (s + i)%nat) == sum_over (seq s n) f.
Proof.
  induction n; intros. { reflexivity. } rewrite sum_shift. cbn [seq sum_over fold_right]. rewrite Nat.add_0_r.
  apply Qplus_comp; [reflexivity|]. change (fold_right _ 0 (seq (S s) n)) with (sum_over (seq (S s) n) f).
  rewrite <- IHn. apply sum_ext. intros. replace (s + S i)%nat with (S s + i)%nat by lia. reflexivity.
Qed.

Lemma layer_ok : forall N D l E cols H out, size N D l = Some E -> repm D N cols H -> eval_layer l cols = Some out ->
  repm E (columns_after l N) out (step N l H) /\ defined N l H.
Proof.
  intros N D l E cols H out S R V. destruct l as [D1 W|R0 T p|D1 W|D1 W1 W2|D1 WV WO|D1 src WV WO|D1 heads|D1];
    cbn [size] in S; cbn [eval_layer columns_after defined] in *.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-. injection V as <-.
    split; [|exact I]. apply (repm_map D _ N cols H _ (fun h i => apply D (weight W) h i + bias W i)); [|assumption].
    intros. apply affine_ok; assumption.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. injection S as <-. apply andb_prop in B. destruct B as [B1 B2].
    assert (P : match p with None => D = 1%nat | Some q => D = 2%nat /\ length q = R0 end)
      by (destruct p; bools; auto).
    assert (LT : forall t, In t T -> length t = R0)
      by (intros t It; rewrite forallb_forall in B2; apply Nat.eqb_eq, B2; assumption).
    split.
    + apply (repm_mapM D R0 N cols H (embed T p) (fun h i => value (nth i (nth (Z.to_nat (Qfloor (h 0%nat))) T []) zero)
                    + match p with None => 0 | Some p => h 1%nat * value (nth i p zero) end)); try assumption.
      intros. eapply embed_ok; eassumption.
    + intros c Hc. apply mapM_ok in V. destruct V as [_ V]. destruct R as [L R].
      eapply embed_ok with (h := nth c cols []); try eassumption; [apply R; assumption | apply V with (e := []); lia].
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-. injection V as <-.
    split; [|exact I]. apply (repm_map D _ N cols H _ (fun h i => relu (apply D (weight W) h i + bias W i))); [|assumption].
    intros. apply relu_ok with (h := fun i => apply D (weight W) hh i + bias W i), affine_ok; assumption.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-. injection V as <-.
    split; [|exact I].
    apply (repm_map D D N cols H _ (fun h i => h i + apply (length W1) (weight W2) (fun k => relu (apply D (weight W1) h k + bias W1 k)) i + bias W2 i)); [|assumption].
    intros. cbn [eval_column]. apply residual_ok; try assumption.
    apply relu_ok with (h := fun i => apply D (weight W1) hh i + bias W1 i), affine_ok; assumption.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-.
    destruct (mix _ _ _ _ _) as [a|] eqn:M; [|discriminate]. injection V as <-. split; [|exact I].
    assert (L := proj1 R). rewrite L in M. pose proof (mix_ok _ _ _ _ _ _ _ _ H1 R (seq_below N) M) as A.
    apply (repm_map D D N cols H _ (fun h i => h i + attend D WV WO (seq 0 N) H i)); [|assumption].
    intros. apply vadd_ok; assumption.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-. split; [|exact I].
    assert (L := proj1 R). rewrite L in V. apply mapM_ok in V. destruct V as [LV V]. rewrite seq_length in LV, V.
    split; [assumption|]. intros c Hc. specialize (V c 0%nat [] Hc). rewrite seq_nth in V by assumption.
    cbn [Nat.add] in V. unfold step.
    destruct (nth c src []) as [|s0 own] eqn:Own.
    + injection V as <-. apply R. assumption.
    + destruct (mix _ _ _ _ _) as [a|] eqn:M; [|discriminate]. injection V as V. rewrite <- V.
      apply vadd_ok. { apply R. assumption. } eapply mix_ok; try eassumption.
      intros x Ix. match goal with F : forallb _ src = true |- _ => rewrite forallb_forall in F;
        assert (C : (c < length src)%nat) by (destruct (le_lt_dec (length src) c) as [G|G]; [rewrite nth_overflow in Own by assumption; discriminate | assumption]);
        specialize (F _ (nth_In src [] C)); rewrite Own, forallb_forall in F; apply Nat.ltb_lt, F; assumption end.
  - destruct (_ && _)%bool eqn:B in S; [|discriminate]. bools. subst D1. injection S as <-. split; [|exact I].
    apply (repm_mapM D D N cols H _ (fun h i => h i + sum_over heads (fun a => attend D (W_V a) (W_O a) (with_largest N (fun l => score D a h (H l))) H i)) ) with (2 := R) (3 := V).
    intros h hh r Rh G. cbv beta in G.
    destruct (mapM _ heads) as [adds|] eqn:M in G; [|discriminate]. injection G as <-.
    apply vadd_ok; [assumption|].
    apply (adds_ok D heads _ (fun a => attend D (W_V a) (W_O a) (with_largest N (fun l => score D a hh (H l))) H)) with (2 := M).
    intros a r Ia Mr. rewrite forallb_forall in H1. specialize (H1 a Ia). bools.
    rewrite (proj1 R) in Mr.
    rewrite (largest_ok N (scores D a h cols) (fun l => score D a hh (H l))) in Mr
      by (intros; eapply scores_ok; eassumption).
    eapply mix_ok; try eassumption. intros x Ix. apply filter_In in Ix. apply seq_below. apply Ix.
  - destruct (_ =? _)%nat eqn:B; [|discriminate]. bools. subst D1. injection S as <-. injection V as <-. split; [|exact I].
    split; [reflexivity|]. intros c Hc. assert (c = 0)%nat by lia. subst c. cbn [nth].
    apply rep_ext with (h := fun j => sum_over (seq 0 N) (fun c => H c j)).
    + rewrite (proj1 R). eapply total_ok; [eassumption | apply seq_below].
    + intros. unfold step. symmetry. exact (sum_sum_over N 0 (fun c => H c i)).
Qed.

(* ---------- Networks ---------- *)

Lemma eval_ok : forall ls N D E cols H out, sizes N D ls = Some E -> repm D N cols H -> eval ls cols = Some out ->
  repm E (columns_left ls N) out (run N ls H) /\ all_defined N ls H.
Proof.
  induction ls as [|l ls IH]; intros N D E cols H out S R V; cbn in S, V.
  - injection S as <-. injection V as <-. split; [exact R | exact I].
  - destruct (size N D l) as [F|] eqn:Sl; [|discriminate]. destruct (eval_layer l cols) as [next|] eqn:Vl; [|discriminate].
    destruct (layer_ok _ _ _ _ _ _ _ Sl R Vl) as [R' Df]. destruct (IH _ _ _ _ _ _ S R' V) as [R'' Da].
    split; [exact R'' | split; assumption].
Qed.
Lemma split_ok : forall ls a b, split ls = (a, b) -> ls = a ++ b /\ forallb columnwise b = true.
Proof.
  induction ls as [|l ls IH]; intros a b S; cbn in S. { injection S as <- <-. split; reflexivity. }
  destruct (split ls) as [a' b'] eqn:S'. destruct (IH _ _ eq_refl) as [E C]. subst ls.
  destruct a' as [|x a'].
  - destruct (columnwise l) eqn:Cl; injection S as <- <-; split; try reflexivity; try assumption.
    cbn. rewrite Cl. exact C.
  - injection S as <- <-. split; [reflexivity | assumption].
Qed.
Lemma size_more : forall l N M D E, (N <= M)%nat -> size N D l = Some E -> size M D l = Some E.
Proof.
  intros l N M D E L S. destruct l; try exact S. cbn [size] in *.
  destruct (_ && _)%bool eqn:B in S; [|discriminate]. injection S as <-. apply andb_prop in B. destruct B as [B1 B2].
  replace (forallb (forallb (fun c => (c <? M)%nat)) sources) with true. { rewrite B1. reflexivity. }
  symmetry. rewrite forallb_forall in *. intros x Ix. specialize (B2 x Ix). rewrite forallb_forall in *.
  intros c Ic. specialize (B2 c Ic). apply Nat.ltb_lt in B2. apply Nat.ltb_lt. lia.
Qed.
Lemma sizes_more : forall ls N M D E, (N <= M)%nat -> sizes N D ls = Some E -> sizes M D ls = Some E.
Proof.
  induction ls as [|l ls IH]; intros N M D E L S; cbn in *; [assumption|].
  destruct (size N D l) as [F|] eqn:Sl; [|discriminate]. rewrite (size_more _ _ _ _ _ L Sl).
  eapply IH; [|eassumption]. destruct l; cbn; lia.
Qed.
Lemma sizes_app : forall a b N D E, sizes N D (a ++ b) = Some E ->
  exists F, sizes N D a = Some F /\ sizes (columns_left a N) F b = Some E.
Proof.
  induction a as [|l a IH]; intros b N D E S; cbn in *. { exists D. split; auto. }
  destruct (size N D l); [|discriminate]. apply IH. assumption.
Qed.
Lemma size_columnwise : forall l N M D, columnwise l = true -> size N D l = size M D l.
Proof. intros l N M D C. destruct l; try discriminate; reflexivity. Qed.
Lemma sizes_columnwise : forall b N M D, forallb columnwise b = true -> sizes N D b = sizes M D b.
Proof.
  induction b as [|l b IH]; intros N M D C; cbn in *; [reflexivity|]. apply andb_prop in C. destruct C as [Cl C].
  rewrite (size_columnwise l N M D Cl). destruct (size M D l); [|reflexivity]. apply IH. assumption.
Qed.
Lemma run_app : forall a b N H, run N (a ++ b) H = run (columns_left a N) b (run N a H).
Proof. induction a; intros; cbn; auto. Qed.
Lemma all_defined_columnwise : forall b N H, forallb columnwise b = true -> all_defined N b H.
Proof.
  induction b as [|l b IH]; intros N H C; cbn in *; [exact I|]. apply andb_prop in C. destruct C as [Cl C].
  split; [|apply IH; assumption]. destruct l; try discriminate; exact I.
Qed.
Lemma all_defined_app : forall a b N H, all_defined N a H -> forallb columnwise b = true -> all_defined N (a ++ b) H.
Proof.
  induction a as [|l a IH]; intros b N H A C; cbn in *. { apply all_defined_columnwise. assumption. }
  destruct A. split; [assumption | apply IH; assumption].
Qed.
Lemma run_columnwise : forall b N M H off c, forallb columnwise b = true ->
  run M b (fun k => H (off + k)%nat) c = run N b H (off + c)%nat.
Proof.
  induction b as [|l b IH]; intros N M H off c C; cbn in *; [reflexivity|]. apply andb_prop in C. destruct C as [Cl C].
  destruct l as [D W|?|D W|D W1 W2|?|?|?|?]; try discriminate.
  - exact (IH N M (step N (Linear D W) H) off c C).
  - exact (IH N M (step N (Relu D W) H) off c C).
  - exact (IH N M (step N (FeedForward D W1 W2) H) off c C).
Qed.
Lemma nth_skip : forall A (l : list A) n k d, nth k (skipn n l) d = nth (n + k) l d.
Proof. induction l; destruct n; intros; cbn; auto. destruct k; reflexivity. Qed.
Lemma repm_values : forall D cols, forallb (fun h => length h =? D)%nat cols = true ->
  repm D (length cols) cols (values cols).
Proof.
  intros D cols F. split; [reflexivity|]. intros c Hc. rewrite forallb_forall in F.
  split. { apply Nat.eqb_eq, F, nth_In. assumption. } intros. reflexivity.
Qed.

Lemma columns_left_app : forall a b N, columns_left (a ++ b) N = columns_left b (columns_left a N).
Proof. intros. unfold columns_left. apply fold_left_app. Qed.
Lemma columns_left_columnwise : forall b N, forallb columnwise b = true -> columns_left b N = N.
Proof.
  unfold columns_left. induction b as [|l b IH]; intros N C; cbn in *; [reflexivity|]. apply andb_prop in C.
  destruct C as [Cl C]. rewrite IH by assumption. destruct l; try discriminate; reflexivity.
Qed.
Lemma columns_length : forall net tokens, padding net <> None -> (length tokens <= longest net)%nat ->
  length (columns net tokens) = columns_before net.
Proof.
  intros net tokens P L. unfold columns, columns_before. destruct (padding net) as [p|]; [|congruence].
  rewrite app_length, map_length, combine_length, seq_length, app_length, repeat_length.
  destruct (extra net); cbn [length]; lia.
Qed.

Lemma sizes_of_columns : forall net tokens D, (length tokens <= longest net)%nat ->
  sizes (columns_before net) D (layers net) = Some 1%nat ->
  sizes (length (columns net tokens)) D (layers net) = Some 1%nat.
Proof.
  intros net tokens D L S. destruct (padding net) as [p|] eqn:P.
  - rewrite columns_length by (congruence || assumption). assumption.
  - apply sizes_more with (N := columns_before net); [|assumption]. unfold columns_before. rewrite P. lia.
Qed.

Theorem judge_sound : forall net accepts, judge net = Some accepts ->
  forall tokens ys, accepts (tokens, ys) = true -> answers net tokens ys.
Proof.
  intros net accepts J tokens ys C. unfold judge in J.
  destruct (sizes _ _ _) as [[|[|n]]|] eqn:S; try discriminate. injection J as <-.
  unfold right_labels in C. destruct (split (layers net)) as [a b] eqn:Sp. apply split_ok in Sp.
  destruct Sp as [El Cb]. cbn [fst snd] in C.
  apply andb_prop in C. destruct C as [C Cev]. apply andb_prop in C. destruct C as [C Cys].
  apply andb_prop in C. destruct C as [C Cly]. apply andb_prop in C. destruct C as [C Cd].
  apply andb_prop in C. destruct C as [Clen Cpad]. apply Nat.leb_le in Clen. apply Nat.eqb_eq in Cly.
  apply sizes_of_columns with (tokens := tokens) in S; [|assumption].
  set (cols := columns net tokens) in *.
  rewrite El in S. apply sizes_app in S. destruct S as [F [Sa Sb]].
  pose proof (repm_values (rows_before net) cols Cd) as R0.
  destruct (eval a cols) as [met|] eqn:Va; [|discriminate].
  destruct (eval_ok _ _ _ _ _ _ _ Sa R0 Va) as [R1 Da].
  apply andb_prop in Cev. destruct Cev as [Cmet Cout]. apply Nat.leb_le in Cmet.
  destruct (eval b _) as [out|] eqn:Vb; [|discriminate].
  set (off := (length met - length ys)%nat) in *.
  assert (R2 : repm F (length ys) (skipn off met) (fun k => run (length cols) a (values cols) (off + k)%nat)).
  { split. { rewrite skipn_length. unfold off. lia. }
    intros c Hc. rewrite nth_skip. apply (proj2 R1). rewrite <- (proj1 R1). unfold off. lia. }
  rewrite (sizes_columnwise b _ (length ys) F Cb) in Sb.
  destruct (eval_ok _ _ _ _ _ _ _ Sb R2 Vb) as [R3 _].
  assert (Left : columns_left (layers net) (length cols) = length met).
  { rewrite El, columns_left_app, (columns_left_columnwise b) by assumption. symmetry. apply R1. }
  unfold answers, admitted. fold cols.
  split. { split; [assumption|]. intro P. destruct (padding net); [|congruence]. destruct tokens; [discriminate | cbn; lia]. }
  split. { intros x I. rewrite forallb_forall in Cd. apply Nat.eqb_eq. exact (Cd x I). }
  split. { rewrite El. apply all_defined_app; assumption. }
  split; [assumption|].
  split. { rewrite Left. assumption. }
  intros k Hk. cbv zeta. rewrite forallb_forall in Cys.
  split. { specialize (Cys _ (nth_In ys 0%Z Hk)). apply andb_prop in Cys. destruct Cys as [Y1 Y2].
    apply Z.leb_le in Y1. apply Z.ltb_lt in Y2. lia. }
  rewrite Left. fold off.
  destruct R3 as [L3 R3]. rewrite (columns_left_columnwise b) in L3, R3 by assumption.
  specialize (R3 k Hk). destruct R3 as [_ R3].
  specialize (R3 0%nat Nat.lt_0_1). rewrite (run_columnwise b (columns_left a (length cols)) _ _ off k Cb), <- run_app, <- El in R3.
  assert (Q : deqb (nth 0 (nth k out []) zero) (Dyadic (nth k ys 0%Z) 0) = true).
  { rewrite forallb_forall in Cout. specialize (Cout (nth k (combine out ys) ([], 0%Z))).
    rewrite combine_nth in Cout by assumption. apply Cout. rewrite <- combine_nth by assumption.
    apply nth_In. rewrite combine_length. lia. }
  apply deqb_ok in Q. rewrite R3 in Q. rewrite Q. unfold value. cbn [mantissa exponent].
  change (2 ^ 0) with 1. ring.
Qed.

(* What the program accepts holds: for every item, the network of Spec.v gives the labels. *)
Theorem check_sound : forall net items, check net items = true ->
  forall tokens ys, In (tokens, ys) items -> answers net tokens ys.
Proof.
  intros net items C tokens ys I. unfold check in C. destruct (judge net) as [accepts|] eqn:J; [|discriminate].
  rewrite forallb_forall in C. exact (judge_sound net accepts J tokens ys (C _ I)).
Qed.
